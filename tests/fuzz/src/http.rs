//! What the parsers use of `src/http`.

#[path = "../../../src/http/paths.rs"]
pub mod paths;

/// Of what a visitor's headers say, the first `User-Agent`: how a click is counted is nothing of a parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitorHeaders<'a> {
    pub agent: Option<&'a [u8]>,
}

impl<'a> VisitorHeaders<'a> {
    pub fn read(&mut self, name: &str, value: &'a [u8]) {
        if name.eq_ignore_ascii_case("user-agent") {
            self.agent.get_or_insert(value);
        }
    }
}
