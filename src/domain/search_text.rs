//! A text that links are searched for, and how it is found: in a time that grows only with what is read, whatever the texts.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use unicode_normalization::char::decompose_canonical;

use super::ShortCode;

/// Stands before and after a code in the text of a link, which begins with a slash as in a short URL: a code as a whole is looked
/// for together with both.
pub const CODE_MARK: char = '\u{1d}';

/// Longest text that is searched for, in bytes.
const MAX_TEXT: usize = 200;

/// Words that must all be in what is found, each anywhere, in any case and with any accents; without control characters.
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
        Self::with_codes(raw, |_| None)
    }

    /// The same, with the words that are short URLs: for each its code is looked for as a whole.
    ///
    /// # Errors
    /// [`InvalidSearchText`].
    pub fn with_codes(
        raw: &str,
        code_of: impl Fn(&str) -> Option<ShortCode>,
    ) -> Result<Option<Self>, InvalidSearchText> {
        if raw.len() > MAX_TEXT || raw.chars().any(char::is_control) {
            return Err(InvalidSearchText);
        }
        let word = |word: &str| match code_of(word) {
            Some(code) => folded(&format!("{CODE_MARK}/{}{CODE_MARK}", code.as_key())),
            None => folded(word),
        };
        let mut all: Vec<String> = raw.split_whitespace().map(word).collect();
        // The mark of an accent without a letter is not searched for.
        all.retain(|word| !word.is_empty());
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
        // Each word has a byte at least.
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

/// Adds a text in the form that all of its cases have in common, without accents.
fn fold(text: &str, folded: &mut String) {
    if text.is_ascii() {
        let begin = folded.len();
        folded.push_str(text);
        folded[begin..].make_ascii_lowercase();
    } else {
        for char in text.chars() {
            match char {
                'ß' | 'ẞ' => folded.push_str("ss"),
                'æ' | 'Æ' => folded.push_str("ae"),
                'œ' | 'Œ' => folded.push_str("oe"),
                char if ACCENTS.contains(&char) => {}
                char => folded.push(letter_of(char)),
            }
        }
    }
}

/// Accents that follow their letter as characters of their own.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// Characters up to U+FFFF in their folded form: looked up in a table, as the conversions of the standard library cost
/// ten times as much for each character.
static FOLDED: LazyLock<Box<[char]>> = LazyLock::new(|| {
    let fold = |code| {
        let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        without_accents(simple_fold(char))
    };
    (0..=0xffff).map(fold).collect()
});

fn letter_of(char: char) -> char {
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    let known = FOLDED.get(char as usize).copied();
    known.unwrap_or_else(|| simple_fold(char))
}

/// The letter to which accents were added, in lower case. Unicode does not count a stroke as an accent.
fn without_accents(char: char) -> char {
    match char {
        'ø' | 'ǿ' => return 'o',
        'ł' => return 'l',
        'đ' => return 'd',
        'ħ' => return 'h',
        'ŧ' => return 't',
        _ => {}
    }
    let mut parts = Vec::with_capacity(4);
    decompose_canonical(char, |part| parts.push(part));
    match parts.split_first() {
        Some((letter, accents))
            if letter.is_alphabetic()
                && !accents.is_empty()
                && accents.iter().all(|accent| ACCENTS.contains(accent)) =>
        {
            simple_fold(*letter).to_ascii_lowercase()
        }
        _ => char,
    }
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
                Ok(text) => {
                    let is_nothing = |char: char| char.is_whitespace() || ACCENTS.contains(&char);
                    prop_assert_eq!(text.is_none(), raw.chars().all(is_nothing));
                }
                Err(error) => {
                    prop_assert_eq!(error, InvalidSearchText);
                    prop_assert!(raw.len() > 200 || raw.chars().any(char::is_control));
                }
            }
        }

        #[test]
        fn each_word_has_to_be_there_in_any_case_and_order(text in "[abABüÜ ]{0,40}", q in "[abAüÜu ]{1,12}") {
            let all = |text: &str| text.to_lowercase().replace('ü', "u");
            let expected = q.split_whitespace().all(|word| all(&text).contains(&all(word)));
            if let Some(q) = SearchText::parse(&q).unwrap() {
                prop_assert_eq!(q.finder().is_in(&text), expected);
            }
        }
    }

    #[test]
    fn all_cases_of_a_character_are_folded_to_the_same() {
        for char in (0..=0x10_ffff).filter_map(char::from_u32) {
            let folded = letter_of(char);
            assert_eq!(letter_of(folded), folded, "{char}");
            let (lower, upper) = (char.to_lowercase(), char.to_uppercase());
            for mut case in [lower.collect::<Vec<_>>(), upper.collect()] {
                // Three characters beyond ASCII have a case in ASCII, and stay themselves.
                if let (Some(case), true) = (case.pop(), case.is_empty())
                    && case.is_ascii() == char.is_ascii()
                {
                    assert_eq!(letter_of(case), folded, "{char} and {case}");
                }
            }
        }
    }

    #[test]
    fn letters_beyond_ascii_are_found_in_any_case() {
        assert!(is_in("ВЕСНА straße", "über весна, STRAßE"));
        assert!(is_in("Σας", "σΑΣ"));
    }

    #[test]
    fn letters_are_found_with_and_without_their_accents() {
        for text in ["Café", "Cafe\u{301}", "cafe", "CAFÉ"] {
            for q in ["cafe", "CAFÉ", "cafe\u{301}", "café"] {
                assert!(is_in(q, text), "{q} in {text}");
            }
        }
        assert!(is_in("uber Øl lodz", "Über øl, Łódź"));
        assert!(is_in("Елка", "ёлка") && is_in("ΣΙΣΥΦΟΣ", "σίσυφος"));
        assert!(is_in("istanbul", "İstanbul"));
        assert!(is_in("strasse", "Straße") && is_in("STRAẞE", "strasse"));
        assert!(is_in("oeuvre aeon", "Œuvre, Æon"));
        // Other letters, not the same with a mark.
        assert!(!is_in("か", "が") && !is_in("i", "ı"));
    }

    #[test]
    fn a_short_url_is_found_by_its_code_as_a_whole() {
        let of = |word: &str| word.strip_prefix("s.example/").and_then(ShortCode::parse);
        let q = SearchText::with_codes("s.example/ab", of).unwrap().unwrap();
        let text =
            |code: &str| format!("{CODE_MARK}/{code}{CODE_MARK}\u{1f}https://example.org/xy");
        assert!(q.finder().is_in(&text("ab")) && !q.finder().is_in(&text("abc")));
        assert!(
            is_in("/ab", &text("abc")) && is_in("/xy", &text("abc")) && !is_in("/bc", &text("abc"))
        );
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
