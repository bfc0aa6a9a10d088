//! The key of this service among the parameters: as the signature, or as the password of any user.

use axum::http::StatusCode;

use super::answer::Answer;
use crate::compat::parameters::Parameters;

/// The key that is given.
pub(super) fn key(parameters: &Parameters) -> Result<&str, Answer> {
    if parameters.filled("timestamp").is_some() && parameters.filled("signature").is_some() {
        return Err(denied(
            "Time-limited signatures are not possible here, because only the hash of a key is kept; send the key itself as the signature, without a timestamp",
        ));
    }
    let given = parameters
        .filled("signature")
        .or(parameters.filled("password"));
    given.ok_or_else(|| denied("Please log in: send a key as signature, or as password"))
}

pub(super) fn denied(why: &str) -> Answer {
    Answer::refused(StatusCode::FORBIDDEN, why)
}
