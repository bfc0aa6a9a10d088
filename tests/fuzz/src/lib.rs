//! What a parser of shunt has to hold for any input, beyond that it does not panic. `tests/fuzz/run` runs it.
//!
//! The parsers are built from shunt's own files, without the rest of it: a build takes a minute, and everything is instrumented.

#![allow(dead_code, unused_imports, reason = "the rest of shunt uses it")]

extern crate utoipa_stub as utoipa;

#[path = "../../../src/domain/mod.rs"]
mod domain;
#[path = "../../../src/import/mod.rs"]
mod import;
#[path = "../../../src/web/own_path.rs"]
mod page;
#[path = "../../../src/server/http1/parse.rs"]
mod parse;
#[path = "../../../src/server/http1/request_target.rs"]
mod request_target;
#[path = "../../../src/wire/mod.rs"]
mod wire;

mod heads;
mod http;
mod imports;
mod urls;

pub use heads::fast_path;
pub use imports::{csv, json};
pub use urls::{blocklist, visitor_query, own_path, target};
