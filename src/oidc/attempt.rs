//! A sign-in under way. All that is kept of it is a cookie in the browser that began it: what the provider gets follows from the cookie
//! and from the service's secret. So only the instances of the service can go on with it.

use std::fmt::Write;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::digest::{SHA256, digest};
use ring::hmac;

use crate::domain::{Timestamp, TokenSecret};

/// How long a person may take at the provider, or for the password that joins an account.
pub(super) const LIFETIME_SECONDS: u64 = 600;

/// Random bytes of a sign-in.
const BYTES: usize = 24;

/// Longest page to which a sign-in leads: a longer one is forgotten.
const MAX_NEXT: usize = 1_024;

/// Longest cookie that is read.
const MAX_COOKIE: usize = 4_096;

/// Signs what the service gives to a browser and gets back; cheap to clone.
#[derive(Clone)]
pub struct AttemptKey(hmac::Key);

/// A sign-in that begins.
#[derive(Clone, Debug)]
pub struct BegunAttempt {
    /// What the browser keeps.
    pub cookie: String,
    pub(super) state: String,
    pub(super) nonce: String,
    /// The hash of the verifier (RFC 7636).
    pub(super) challenge: String,
}

/// A sign-in that came back to the browser that began it.
#[derive(Clone, Debug)]
pub struct ResumedAttempt {
    /// The page to which it leads.
    pub next: String,
    pub(super) nonce: String,
    pub(super) verifier: String,
}

impl AttemptKey {
    /// The key that follows from the service's secret.
    #[must_use]
    pub fn new(secret: &TokenSecret) -> Self {
        let whole = hmac::Key::new(hmac::HMAC_SHA256, secret.expose());
        let own = hmac::sign(&whole, b"sign-in by an identity provider");
        Self(hmac::Key::new(hmac::HMAC_SHA256, own.as_ref()))
    }

    /// Begins a sign-in that leads to the page `next`.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn begin(&self, now: Timestamp, next: &str) -> Result<BegunAttempt, getrandom::Error> {
        let mut random = [0; BYTES];
        getrandom::fill(&mut random)?;
        let next = if next.len() <= MAX_NEXT { next } else { "" };
        let mut payload = String::new();
        for byte in random {
            // Writing to a string does not fail.
            let _ = write!(payload, "{byte:02x}");
        }
        let payload = format!("{payload} {next}");
        let cookie = self.seal("sign-in", now, &payload);
        let verifier = self.derived("verifier", &cookie);
        Ok(BegunAttempt {
            state: self.derived("state", &cookie),
            nonce: self.derived("nonce", &cookie),
            challenge: BASE64.encode(digest(&SHA256, verifier.as_bytes())),
            cookie,
        })
    }

    /// The sign-in of the browser with this cookie, if the provider's answer has its `state`.
    #[must_use]
    pub fn resume(&self, cookie: &str, state: &str, now: Timestamp) -> Option<ResumedAttempt> {
        let payload = self.open("sign-in", cookie, now)?;
        // Digests are compared: how long that takes says nothing of the state.
        let hash = |text: &str| digest(&SHA256, text.as_bytes());
        if hash(&self.derived("state", cookie)).as_ref() != hash(state).as_ref() {
            return None;
        }
        let (_, next) = payload.split_once(' ')?;
        Some(ResumedAttempt {
            next: next.to_owned(),
            nonce: self.derived("nonce", cookie),
            verifier: self.derived("verifier", cookie),
        })
    }

    /// A text that only this service can have written, for ten minutes. It is not hidden from the browser.
    #[must_use]
    pub fn seal(&self, what: &str, now: Timestamp, payload: &str) -> String {
        let until = now.unix_seconds() + LIFETIME_SECONDS;
        let sealed = format!("{until}.{}", BASE64.encode(payload));
        let mark = self.derived(what, &sealed);
        format!("{sealed}.{mark}")
    }

    /// The text in a seal of this kind, if its time is not over.
    #[must_use]
    pub fn open(&self, what: &str, sealed: &str, now: Timestamp) -> Option<String> {
        if sealed.len() > MAX_COOKIE {
            return None;
        }
        let (sealed, mark) = sealed.rsplit_once('.')?;
        let mark = BASE64.decode(mark).ok()?;
        hmac::verify(&self.0, &message(what, sealed), &mark).ok()?;
        let (until, payload) = sealed.split_once('.')?;
        let is_over = until.parse::<u64>().ok()? <= now.unix_seconds();
        let payload = BASE64.decode(payload).ok().filter(|_| !is_over)?;
        String::from_utf8(payload).ok()
    }

    fn derived(&self, what: &str, of: &str) -> String {
        BASE64.encode(hmac::sign(&self.0, &message(what, of)))
    }
}

fn message(what: &str, of: &str) -> Vec<u8> {
    format!("{what}\0{of}").into_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn key(letter: &str) -> AttemptKey {
        let secret = format!("{letter}123456789abcdef0123456789abcdef");
        AttemptKey::new(&TokenSecret::from_bytes(secret.into_bytes()).unwrap())
    }

    fn now() -> Timestamp {
        "2027-01-31T18:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_sign_in_goes_on_in_the_browser_that_began_it_and_with_its_state_only() {
        let begun = key("a").begin(now(), "/app/tags").unwrap();
        let resumed = key("a").resume(&begun.cookie, &begun.state, now()).unwrap();
        assert_eq!(resumed.next, "/app/tags");
        assert_eq!(resumed.nonce, begun.nonce);
        assert_eq!(
            BASE64.encode(digest(&SHA256, resumed.verifier.as_bytes())),
            begun.challenge
        );
        let other = key("a").begin(now(), "/app/tags").unwrap();
        for (letter, cookie, state) in [
            ("a", &begun.cookie, &other.state),
            ("a", &other.cookie, &begun.state),
            ("b", &begun.cookie, &begun.state),
            ("a", &String::new(), &begun.state),
        ] {
            assert!(key(letter).resume(cookie, state, now()).is_none());
        }
        let later = now().after(Duration::from_secs(LIFETIME_SECONDS));
        assert!(
            key("a")
                .resume(&begun.cookie, &begun.state, later)
                .is_none()
        );
    }

    #[test]
    fn what_is_sealed_for_one_purpose_is_not_opened_for_another() {
        let sealed = key("a").seal("join", now(), "7");
        assert_eq!(key("a").open("join", &sealed, now()).unwrap(), "7");
        assert!(key("a").open("sign-in", &sealed, now()).is_none());
    }

    proptest! {
        #[test]
        fn no_other_text_is_opened(text in "\\PC{0,80}", at in 0_usize..200, other in 0_u8..128) {
            prop_assert!(key("a").open("join", &text, now()).is_none());
            let sealed = key("a").seal("join", now(), &text);
            prop_assert_eq!(key("a").open("join", &sealed, now()).unwrap(), text);
            let mut forged = sealed.clone().into_bytes();
            let at = at % forged.len();
            forged[at] = other;
            let forged = String::from_utf8(forged).unwrap();
            prop_assume!(forged != sealed);
            prop_assert!(key("a").open("join", &forged, now()).is_none());
        }
    }
}
