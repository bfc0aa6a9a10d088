//! Known bots, by words in their `User-Agent`.
//!
//! Nearly all words are plain text, so one automaton finds them, in time linear in the agent whatever is in it. Patterns that are
//! more than text are tried only on agents that have their text.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;
use regex_filtered::Regexes;
use regex_syntax::hir::Hir;
use regex_syntax::hir::literal::{Extractor, Seq};

const BROKEN: &str = "the patterns are a part of the program, and a test compiles them";

/// The words of bots, and the words of people's devices and programs that look like bots.
pub(super) struct Bots {
    words: Vec<Box<[u8]>>,
    /// Finds `words` in any case.
    finder: AhoCorasick,
    patterns: Regexes,
    people: Regex,
    /// Finds what every match of `people` begins with.
    people_finder: AhoCorasick,
}

impl Bots {
    pub(super) fn new() -> Self {
        let mut words: Vec<Box<[u8]>> = Vec::new();
        let mut patterns = regex_filtered::Builder::new();
        for pattern in include_str!("data/bots.txt").lines() {
            if let Some(texts) = texts(pattern) {
                words.extend(texts);
                continue;
            }
            // In another case the beginning of a word only: `Sonic` is a bot, and Panasonic makes televisions.
            let in_any_case = format!(r"(?i:(?-u:\b)(?:{pattern}))");
            // To compile, each character in any case takes a thousand times as long as any character.
            let in_any_case = in_any_case.replace(r"[\s\S]", "(?s:.)");
            patterns = patterns.push(pattern).expect(BROKEN);
            patterns = patterns.push(&in_any_case).expect(BROKEN);
        }
        for pattern in include_str!("data/more_bots.txt").lines() {
            patterns = patterns.push(&format!("(?i-u:{pattern})")).expect(BROKEN);
        }
        let people: Vec<_> = include_str!("data/no_bots.txt").lines().collect();
        let beginnings = people.iter().flat_map(|pattern| beginnings(pattern));
        Self {
            finder: finder(words.iter()),
            words,
            patterns: patterns.build().expect(BROKEN),
            people_finder: finder(beginnings),
            people: Regex::new(&people.join("|")).expect(BROKEN),
        }
    }

    /// Whether there is a bot's word in an agent, beside words of people's devices and programs that only look like it.
    pub(super) fn has(&self, agent: &str) -> bool {
        let is_of_bot = |text: &str| self.has_word(text) || self.patterns.is_match(text);
        is_of_bot(agent)
            && (!self.people_finder.is_match(agent)
                || is_of_bot(&self.people.replace_all(agent, " ")))
    }

    /// Whether an agent is a bot's by its plain words, with nothing in it that a person's agent may have. It says nothing of any
    /// other agent.
    pub(super) fn surely_has(&self, agent: &str) -> bool {
        self.has_word(agent) && !self.people_finder.is_match(agent)
    }

    fn has_word(&self, agent: &str) -> bool {
        let bytes = agent.as_bytes();
        let is_word = |at: usize| bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_';
        self.finder.find_overlapping_iter(agent).any(|found| {
            let is_beginning =
                (found.start() > 0 && is_word(found.start() - 1)) != is_word(found.start());
            is_beginning || bytes[found.range()] == *self.words[found.pattern().as_usize()]
        })
    }
}

/// All texts that a pattern finds; `None` if the pattern is more than a text.
fn texts(pattern: &str) -> Option<Vec<Box<[u8]>>> {
    let pattern = parsed(pattern);
    if !pattern.properties().look_set().is_empty() {
        return None;
    }
    let found = extracted(&pattern);
    found.is_exact().then(|| all(&found)).flatten()
}

/// What every match of a pattern begins with.
fn beginnings(pattern: &str) -> Vec<Box<[u8]>> {
    all(&extracted(&parsed(pattern))).expect("each pattern begins with text")
}

/// Of a class, as `[0-9]`, each character is a text of its own, up to all letters and digits.
fn extracted(pattern: &Hir) -> Seq {
    Extractor::new().limit_class(62).extract(pattern)
}

fn all(texts: &Seq) -> Option<Vec<Box<[u8]>>> {
    let texts = texts.literals()?.iter();
    Some(texts.map(|text| text.as_bytes().into()).collect())
}

fn parsed(pattern: &str) -> Hir {
    regex_syntax::parse(pattern).expect(BROKEN)
}

fn finder(texts: impl IntoIterator<Item: AsRef<[u8]>>) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        // A DFA would be little faster, at 7 MB.
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .build(texts)
        .expect(BROKEN)
}
