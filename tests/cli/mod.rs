//! The command line as people and scripts use it: the program against a running service.

mod accounts;
mod api_keys;
mod client;
mod files;
mod groups;
mod import;
mod links;
mod mcp;
mod messages;
mod operators;
mod passwords;
mod pools;
mod proxied;
mod readme;
mod settings_page;
pub(crate) mod support;
mod tags;
mod terminal;
