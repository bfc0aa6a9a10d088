//! Input that nobody who means well sends, made up by the hundred: what a Redis answers, and requests.
//!
//! `tests/run --long` (`PROPTEST_CASES`) makes it up by the ten thousand. The parsers themselves have tests
//! like these beside them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "shared with the suite, which uses the rest")]
#[expect(unused_macros, reason = "shared with the suite, which uses the rest")]
#[expect(unused_imports, reason = "shared with the suite, which uses the rest")]
#[path = "../suite/support/mod.rs"]
mod support;

mod lies;
mod redis;
mod requests;

use proptest::test_runner::Config;

/// More would take hours: each is a conversation.
const MOST_CASES: u32 = 10_000;

/// As many cases as the environment asks for. What fails is printed and becomes a test of its own.
fn cases() -> Config {
    let asked = Config::default();
    Config {
        failure_persistence: None,
        cases: asked.cases.min(MOST_CASES),
        ..asked
    }
}
