//! What a parser of shunt has to hold for any input, beyond that it does not panic. `tests/fuzz/run` runs it.
//!
//! The parsers are built from shunt's own files, without the rest of it: a build takes a minute, and everything is instrumented.

#[path = "../../../src/domain/mod.rs"]
#[expect(dead_code, reason = "the rest of shunt uses it")]
mod domain;
#[path = "../../../src/import/mod.rs"]
#[expect(unused_imports, reason = "the rest of shunt uses it")]
mod import;
#[path = "../../../src/web/own_path.rs"]
mod page;
#[path = "../../../src/server/http1/parse.rs"]
mod parse;
#[path = "../../../src/server/http1/request_target.rs"]
mod request_target;

mod http {
    #[path = "../../../../src/http/paths.rs"]
    #[expect(dead_code, reason = "the rest of shunt uses it")]
    pub mod paths;

    /// It decides only whether a click is counted.
    pub fn is_speculative(_: &[u8]) -> bool {
        false
    }
}

mod heads;
mod imports;
mod urls;

pub use heads::fast_path;
pub use imports::{csv, json};
pub use urls::{blocklist, forward_query, own_path, target};
