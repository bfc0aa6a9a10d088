//! What the parsers use of `src/http`.

#[path = "../../../src/http/paths.rs"]
pub mod paths;

/// It decides only whether a click is counted.
pub fn is_speculative(_: &[u8]) -> bool {
    false
}
