//! The password of a link in the header `Authorization`.

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::domain::Password;

/// Longer than the longest password with a user name.
const MAX_BYTES: usize = 4096;

/// What follows the word `Basic`, if a header has it.
fn credentials(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(6)?;
    scheme
        .eq_ignore_ascii_case(b"basic ")
        .then(|| rest.trim_ascii())
}

/// Whether the value of `Authorization` may be the password of a link.
#[must_use]
pub fn is_basic(value: &[u8]) -> bool {
    credentials(value).is_some()
}

/// The password of `Authorization: Basic` (RFC 7617), whatever the user name. Anything that cannot be read is a wrong password.
#[must_use]
pub fn basic_password(headers: &HeaderMap) -> Option<Password> {
    let credentials = credentials(headers.get(AUTHORIZATION)?.as_bytes())?;
    let decoded = STANDARD.decode(credentials.get(..MAX_BYTES).unwrap_or(credentials));
    let decoded = decoded.unwrap_or_default();
    let decoded = String::from_utf8_lossy(&decoded);
    let password = decoded.split_once(':').map_or("", |(_, password)| password);
    Some(Password::at_log_in(password.to_owned()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn password(value: &[u8]) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        let password = basic_password(&headers)?;
        Some(String::from_utf8(password.expose().to_vec()).unwrap())
    }

    #[test]
    fn a_header_of_any_other_kind_is_no_password() {
        assert_eq!(password(b"Bearer abc"), None);
        assert_eq!(password(b"Basic"), None);
        assert_eq!(password(b"basic !!"), Some(String::new()));
        assert_eq!(password(b"BASIC  YTpi "), Some("b".to_owned()));
    }

    proptest! {
        #[test]
        fn a_password_is_read_whatever_the_user_name(user in "[^:\\p{Cc}]{0,20}", given in "[ -~]{0,40}") {
            let value = format!("Basic {}", STANDARD.encode(format!("{user}:{given}")));
            prop_assert_eq!(password(value.as_bytes()), Some(given));
        }

        #[test]
        fn no_header_causes_a_panic(value in "[Bb]asic [ -~]{0,60}") {
            prop_assert!(is_basic(value.as_bytes()));
            prop_assert!(password(value.as_bytes()).is_some());
        }
    }
}
