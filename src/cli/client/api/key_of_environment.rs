//! `SHUNT_KEY`: an API key for scripts and services, which no file keeps.

use std::env;

use crate::cli::client::Failure;

/// The variable.
pub(super) const NAME: &str = "SHUNT_KEY";

/// Whether a key is given: it wins over the login that is kept.
pub(super) fn is_given() -> bool {
    env::var_os(NAME).is_some_and(|key| !key.is_empty())
}

/// The key, if one is given.
pub(super) fn read() -> Result<Option<String>, Failure> {
    if !is_given() {
        return Ok(None);
    }
    let key = env::var(NAME).ok().filter(|key| is_key(key));
    let wrong = || Failure::Usage(format!("{NAME}: {NO_KEY}"));
    key.map(Some).ok_or_else(wrong)
}

/// What is wrong with a text that is not a key; the text is left out.
pub(in crate::cli::client) const NO_KEY: &str =
    "is not an API key; a key begins with shunt_, and `shunt keys create` makes one";

/// Whether a text looks like a key. The service knows whether it is one.
pub(in crate::cli::client) fn is_key(text: &str) -> bool {
    text.starts_with("shunt_") && text.bytes().all(|byte| byte.is_ascii_graphic())
}
