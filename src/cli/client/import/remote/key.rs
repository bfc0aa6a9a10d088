//! The key for the other service: from the environment, or asked for. It is never an argument, and no message has it.

use std::env;

use super::super::super::password;
use super::Failure;

const NAME: &str = "SHUNT_FROM_KEY";

/// The key.
pub(super) fn read() -> Result<String, Failure> {
    let given = env::var_os(NAME).filter(|key| !key.is_empty());
    let key = match given {
        Some(key) => key.into_string().unwrap_or_default(),
        None => password::read_key()?,
    };
    // Anything else cannot be the value of a header.
    if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(key);
    }
    Err(Failure::Usage(format!(
        "{NAME}: the key for the other service must be of visible ASCII characters"
    )))
}
