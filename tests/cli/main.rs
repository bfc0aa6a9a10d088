//! The command line as people and scripts use it: the real program against the real service.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod operators;
mod settings_page;
mod support;
mod terminal;
