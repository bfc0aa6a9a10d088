//! A text that links are searched for, and how it is found: in a time that grows only with what is read, whatever the texts.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Longest text that is searched for, in bytes.
const MAX_TEXT: usize = 200;

/// Words that must all be in what is found, each anywhere and in any case; without control characters.
#[derive(Clone, Debug)]
pub struct SearchText {
    /// In their folded form. No word is part of another word: it would be found together with it.
    words: Box<[Box<str>]>,
    /// Finds all words at once: to look for each by itself would read a text once for each.
    automaton: AhoCorasick,
}

impl PartialEq for SearchText {
    fn eq(&self, other: &Self) -> bool {
        self.words == other.words
    }
}

impl Eq for SearchText {}

/// Why a text is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("q: must be at most 200 bytes long, without control characters")]
pub struct InvalidSearchText;

impl SearchText {
    /// A text without words is not a condition: every link matches.
    ///
    /// # Errors
    /// [`InvalidSearchText`].
    pub fn parse(raw: &str) -> Result<Option<Self>, InvalidSearchText> {
        if raw.len() > MAX_TEXT || raw.chars().any(char::is_control) {
            return Err(InvalidSearchText);
        }
        let mut all: Vec<String> = raw.split_whitespace().map(folded).collect();
        all.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        let mut words: Vec<Box<str>> = Vec::new();
        for word in all {
            if !words.iter().any(|longer| longer.contains(&word)) {
                words.push(word.into());
            }
        }
        if words.is_empty() {
            return Ok(None);
        }
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .prefilter(false)
            .build(words.iter().map(|word| word.as_bytes()))
            .expect("so few bytes have few states");
        let words = words.into_boxed_slice();
        Ok(Some(Self { words, automaton }))
    }

    /// What finds the text.
    #[must_use]
    pub fn finder(&self) -> TextFinder<'_> {
        TextFinder {
            words: &self.automaton,
            folded: String::new(),
        }
    }
}

/// Finds a [`SearchText`]: reads each text once.
pub struct TextFinder<'a> {
    words: &'a AhoCorasick,
    folded: String,
}

impl TextFinder<'_> {
    /// Whether a text has all words.
    pub fn is_in(&mut self, text: &str) -> bool {
        self.folded.clear();
        fold(text, &mut self.folded);
        let mut missing = self.words.patterns_len();
        let mut is_found = [false; MAX_TEXT];
        // No word is part of another word, so at most one word ends at each byte.
        for found in self.words.find_overlapping_iter(&self.folded) {
            let is_known = std::mem::replace(&mut is_found[found.pattern().as_usize()], true);
            missing -= usize::from(!is_known);
            if missing == 0 {
                return true;
            }
        }
        false
    }
}

fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold(text, &mut folded);
    folded
}

/// Adds a text in the form that all of its cases have in common.
fn fold(text: &str, folded: &mut String) {
    if text.is_ascii() {
        let begin = folded.len();
        folded.push_str(text);
        folded[begin..].make_ascii_lowercase();
    } else {
        folded.extend(text.chars().map(case_folded));
    }
}

/// Characters up to U+FFFF in their folded form: looked up in a table, as the conversions of the standard library cost
/// ten times as much for each character.
static FOLDED: LazyLock<Box<[char]>> = LazyLock::new(|| {
    let fold = |code| char::from_u32(code).map_or(char::REPLACEMENT_CHARACTER, simple_fold);
    (0..=0xffff).map(fold).collect()
});

fn case_folded(char: char) -> char {
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    let known = FOLDED.get(char as usize).copied();
    known.unwrap_or_else(|| simple_fold(char))
}

/// The lower case of the upper case, without cases that are several characters. What is beyond ASCII stays so: in Turkish "ı" is
/// another letter than "i", in every locale.
fn simple_fold(char: char) -> char {
    let upper = only_case(char.to_uppercase(), char);
    let folded = only_case(upper.to_lowercase(), upper);
    if folded.is_ascii() { char } else { folded }
}

fn only_case(mut cases: impl ExactSizeIterator<Item = char>, char: char) -> char {
    let is_only = cases.len() == 1;
    cases.next().filter(|_| is_only).unwrap_or(char)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_in(q: &str, text: &str) -> bool {
        let q = SearchText::parse(q).unwrap().unwrap();
        q.finder().is_in(text)
    }

    proptest! {
        #[test]
        fn a_text_is_taken_or_refused_and_white_space_is_none(raw in "\\PC{0,30}|.{0,10}|[a-z ü]{0,220}") {
            match SearchText::parse(&raw) {
                Ok(text) => prop_assert_eq!(text.is_none(), raw.trim().is_empty()),
                Err(error) => {
                    prop_assert_eq!(error, InvalidSearchText);
                    prop_assert!(raw.len() > 200 || raw.chars().any(char::is_control));
                }
            }
        }

        #[test]
        fn each_word_has_to_be_there_in_any_case_and_order(text in "[abABüÜ ]{0,40}", q in "[abAüÜ ]{1,12}") {
            let all = |text: &str| text.to_lowercase();
            let expected = q.split_whitespace().all(|word| all(&text).contains(&all(word)));
            if let Some(q) = SearchText::parse(&q).unwrap() {
                prop_assert_eq!(q.finder().is_in(&text), expected);
            }
        }
    }

    #[test]
    fn all_cases_of_a_character_are_folded_to_the_same() {
        for char in (0..=0x10_ffff).filter_map(char::from_u32) {
            let folded = case_folded(char);
            assert_eq!(case_folded(folded), folded, "{char}");
            let (lower, upper) = (char.to_lowercase(), char.to_uppercase());
            for mut case in [lower.collect::<Vec<_>>(), upper.collect()] {
                // Three characters beyond ASCII have a case in ASCII, and stay themselves.
                if let (Some(case), true) = (case.pop(), case.is_empty())
                    && case.is_ascii() == char.is_ascii()
                {
                    assert_eq!(case_folded(case), folded, "{char} and {case}");
                }
            }
        }
    }

    #[test]
    fn letters_beyond_ascii_are_found_in_any_case() {
        assert!(is_in("ВЕСНА straße", "über весна, STRAßE"));
        assert!(is_in("Σας", "σΑΣ"));
        assert!(!is_in("uber", "über"));
    }

    #[test]
    fn every_character_stands_for_itself() {
        let text = r"50%_[a]*?\d(ä).";
        for q in ["%", "_", "[a]", "*", "?", r"\", r"\d", "(Ä).", "[a]*?"] {
            assert!(is_in(q, text), "{q}");
        }
        assert!(!is_in("5.%", text));
    }

    #[test]
    fn a_text_may_have_200_bytes() {
        assert!(SearchText::parse(&"x".repeat(200)).is_ok());
        assert!(SearchText::parse(&"x".repeat(201)).is_err());
        assert!(SearchText::parse(&"ü".repeat(101)).is_err());
    }
}
