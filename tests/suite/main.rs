//! The specification and the contract as tests: the real program, over real HTTP, in both modes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod accounts;
mod architecture;
mod delete;
mod errors;
mod instances;
mod lifecycle;
mod list;
mod redirect;
mod settings;
mod shorten;
mod stats;
