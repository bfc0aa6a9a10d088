//! Tokens: JWT, HS256 and nothing else.

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, TokenData, Validation, decode, encode,
};
use serde::{Deserialize, Serialize};

use super::hmac;
use crate::domain::{Clock, Principal, TokenKey, TokenSecret, UserId};
use crate::oidc::AttemptKey;

/// Longest token that is parsed; tokens of this service have about 300 bytes, or more with a long `BASE_URL`.
const MAX_BYTES: usize = 4_096;

/// Whom tokens are for, and what they are: another kind of token, signed with the same secret, is refused.
const AUDIENCE: &str = "shunt";
const ACCESS: &str = "access";

/// How far `iat` may lie ahead: clocks of instances differ.
const CLOCK_SKEW_SECONDS: u64 = 300;

/// Issues and checks tokens; cheap to clone.
#[derive(Clone)]
pub struct Tokens {
    keys: Arc<Keys>,
    seals: AttemptKey,
    issuer: Arc<str>,
    ttl: Duration,
    clock: Arc<dyn Clock>,
}

/// The secrets that tokens are signed with.
#[derive(Clone)]
pub struct Secrets {
    /// Signs new tokens.
    pub current: TokenSecret,
    /// Signed tokens up to now: they are checked with it until they expire.
    pub previous: Option<TokenSecret>,
}

struct Keys {
    encoding: EncodingKey,
    decoding: DecodingKey,
    decoding_previous: Option<DecodingKey>,
    validation: Validation,
}

/// Why a token is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is not a token, or not one that this service signed.
    #[error("the token is malformed, or was not issued by this service")]
    Malformed,
    /// It is an API key, on a route that needs a log-in.
    #[error("an API key is not accepted here")]
    Key,
    /// Its time is over.
    #[error("the token has expired")]
    Ended,
    /// It is not valid yet: the clock of another instance is ahead.
    #[error("the token is not valid yet")]
    Early,
}

/// RFC 7519: subject, issued at, expires; times in seconds since 1970. And the account's key, a claim of this service's
/// own.
#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    iat: u64,
    exp: u64,
    key: String,
    /// Only for readers: the account's key ties a token to this database, also when `BASE_URL` changes.
    iss: String,
    aud: String,
    typ: String,
}

impl Tokens {
    /// Tokens of the service at the address `issuer`, valid for `ttl`.
    #[must_use]
    pub fn new(secrets: &Secrets, issuer: &str, ttl: Duration, clock: Arc<dyn Clock>) -> Self {
        hmac::install();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = 0;
        // `exp` is compared with the clock that was handed in.
        validation.validate_exp = false;
        validation.validate_nbf = true;
        validation.set_required_spec_claims(&["aud", "exp", "sub"]);
        validation.set_audience(&[AUDIENCE]);
        let decoding = |secret: &TokenSecret| DecodingKey::from_secret(secret.expose());
        let keys = Keys {
            encoding: EncodingKey::from_secret(secrets.current.expose()),
            decoding: decoding(&secrets.current),
            decoding_previous: secrets.previous.as_ref().map(decoding),
            validation,
        };
        Self {
            seals: AttemptKey::new(&secrets.current),
            keys: Arc::new(keys),
            issuer: issuer.into(),
            ttl,
            clock,
        }
    }

    /// Signs what browsers keep of a sign-in that is not complete.
    pub(super) fn seals(&self) -> &AttemptKey {
        &self.seals
    }

    /// A fresh token of an account.
    pub(super) fn issue(&self, of: Principal) -> Result<String, jsonwebtoken::errors::Error> {
        let iat = self.clock.now().unix_seconds();
        let claims = Claims {
            sub: of.user.0.to_string(),
            iat,
            exp: iat + self.ttl.as_secs(),
            key: of.key.to_string(),
            iss: self.issuer.to_string(),
            aud: AUDIENCE.to_owned(),
            typ: ACCESS.to_owned(),
        };
        encode(&Header::new(Algorithm::HS256), &claims, &self.keys.encoding)
    }

    /// A token that the current secret or the previous one signed.
    fn decoded(&self, token: &str) -> Result<TokenData<Claims>, TokenFault> {
        let keys = &self.keys;
        let decoded = decode::<Claims>(token, &keys.decoding, &keys.validation);
        let decoded = match (&decoded, &keys.decoding_previous) {
            (Err(error), Some(previous)) if *error.kind() == ErrorKind::InvalidSignature => {
                decode(token, previous, &keys.validation)
            }
            _ => decoded,
        };
        decoded.map_err(fault)
    }

    /// The account that the token was issued to.
    pub(super) fn principal(&self, token: &str) -> Result<Principal, TokenFault> {
        if token.len() > MAX_BYTES {
            return Err(TokenFault::Malformed);
        }
        let TokenData { header, claims } = self.decoded(token)?;
        // Extensions that a recipient has to understand (RFC 7515, 4.1.11): none is supported here.
        if header.crit.is_some() || claims.typ != ACCESS {
            return Err(TokenFault::Malformed);
        }
        let now = self.clock.now().unix_seconds();
        if claims.exp <= now {
            return Err(TokenFault::Ended);
        }
        if claims.iat > now + CLOCK_SKEW_SECONDS {
            return Err(TokenFault::Early);
        }
        let user = claims.sub.parse().ok().filter(|id| *id > 0).map(UserId);
        let key = TokenKey::parse(&claims.key);
        user.zip(key)
            .map(|(user, key)| Principal { user, key })
            .ok_or(TokenFault::Malformed)
    }
}

fn fault(error: jsonwebtoken::errors::Error) -> TokenFault {
    match error.into_kind() {
        ErrorKind::ImmatureSignature => TokenFault::Early,
        _ => TokenFault::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::domain::{ManualClock, SystemClock};

    use TokenFault::{Early, Ended, Malformed};

    fn now() -> u64 {
        SystemClock.now().unix_seconds()
    }

    fn secret(name: &str) -> TokenSecret {
        let secret = format!("{name} secret of these tests, with 32 bytes");
        TokenSecret::from_bytes(secret.into_bytes()).unwrap()
    }

    fn tokens_with(current: &str, previous: Option<&str>, clock: Arc<dyn Clock>) -> Tokens {
        let secrets = Secrets {
            current: secret(current),
            previous: previous.map(secret),
        };
        Tokens::new(&secrets, "https://sho.rt", Duration::from_mins(1), clock)
    }

    fn tokens(secret: &str) -> Tokens {
        tokens_with(secret, None, Arc::new(SystemClock))
    }

    fn account(id: i64) -> Principal {
        Principal {
            user: UserId(id),
            key: TokenKey::from_bytes(&[0x5a; 16]).unwrap(),
        }
    }

    fn minted(algorithm: Algorithm, iat: u64, exp: u64) -> String {
        minted_under(&Header::new(algorithm), iat, exp)
    }

    fn minted_under(header: &Header, iat: u64, exp: u64) -> String {
        let claims = Claims {
            sub: "7".into(),
            iat,
            exp,
            key: account(7).key.to_string(),
            iss: "https://sho.rt".into(),
            aud: AUDIENCE.into(),
            typ: ACCESS.into(),
        };
        encode(header, &claims, &tokens("a").keys.encoding).unwrap()
    }

    #[test]
    fn a_token_names_the_account_that_it_was_issued_to() {
        let tokens = tokens("a");
        assert_eq!(
            tokens.principal(&tokens.issue(account(7)).unwrap()),
            Ok(account(7))
        );
    }

    #[test]
    fn a_token_of_another_secret_algorithm_or_time_is_refused() {
        let now = now();
        let good = minted(Algorithm::HS256, now, now + 60);
        assert_eq!(tokens("a").principal(&good), Ok(account(7)));
        let other = tokens("b").principal(&good);
        assert_eq!(other, Err(Malformed), "another secret");
        for (token, fault) in [
            (minted(Algorithm::HS512, now, now + 60), Malformed),
            (minted(Algorithm::HS256, now - 120, now - 60), Ended),
            (minted(Algorithm::HS256, now - 60, now), Ended),
            (minted(Algorithm::HS256, now + 3_600, now + 7_200), Early),
            (good.rsplit_once('.').unwrap().0.to_owned() + ".", Malformed),
            (good[..good.len() - 2].to_owned(), Malformed),
        ] {
            assert_eq!(tokens("a").principal(&token), Err(fault), "{token}");
        }
    }

    #[test]
    fn a_token_ends_when_its_time_is_over() {
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        let tokens = tokens_with("a", None, Arc::clone(&clock) as _);
        let token = tokens.issue(account(7)).unwrap();
        clock.advance(Duration::from_secs(59));
        assert_eq!(tokens.principal(&token), Ok(account(7)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(tokens.principal(&token), Err(Ended));
    }

    #[test]
    fn a_token_without_an_audience_or_a_type_is_refused() {
        let now = now();
        let whole = serde_json::json!({
            "sub": "7", "iat": now, "exp": now + 60, "key": account(7).key.to_string(), "iss": "https://sho.rt",
            "aud": AUDIENCE, "typ": ACCESS,
        });
        let token = |claims: &serde_json::Value| {
            let key = &tokens("a").keys.encoding;
            encode(&Header::new(Algorithm::HS256), claims, key).unwrap()
        };
        assert_eq!(tokens("a").principal(&token(&whole)), Ok(account(7)));
        for missing in ["aud", "typ", "key", "exp"] {
            let mut claims = whole.clone();
            claims.as_object_mut().unwrap().remove(missing);
            assert_eq!(
                tokens("a").principal(&token(&claims)),
                Err(Malformed),
                "{missing}"
            );
        }
    }

    #[test]
    fn a_token_of_another_audience_or_type_is_refused() {
        let token = |aud: &str, typ: &str| {
            let claims = Claims {
                sub: "7".into(),
                iat: now(),
                exp: now() + 60,
                key: account(7).key.to_string(),
                iss: "https://other.example".into(),
                aud: aud.into(),
                typ: typ.into(),
            };
            encode(
                &Header::new(Algorithm::HS256),
                &claims,
                &tokens("a").keys.encoding,
            )
            .unwrap()
        };
        for (aud, typ, expected) in [
            ("shunt", "access", Ok(account(7))),
            ("other", "access", Err(Malformed)),
            ("shunt", "refresh", Err(Malformed)),
        ] {
            assert_eq!(
                tokens("a").principal(&token(aud, typ)),
                expected,
                "{aud} {typ}"
            );
        }
    }

    #[test]
    fn the_previous_secret_checks_tokens_and_signs_none() {
        let rotated = tokens_with("b", Some("a"), Arc::new(SystemClock));
        let before = tokens("a").issue(account(7)).unwrap();
        assert_eq!(rotated.principal(&before), Ok(account(7)));
        let fresh = rotated.issue(account(7)).unwrap();
        assert_eq!(tokens("b").principal(&fresh), Ok(account(7)));
        assert_eq!(tokens("a").principal(&fresh), Err(Malformed));
        let older = tokens("c").issue(account(7)).unwrap();
        assert_eq!(rotated.principal(&older), Err(Malformed));
    }

    #[test]
    fn a_token_that_asks_for_an_extension_is_refused() {
        let header = Header {
            crit: Some(vec!["b64".into()]),
            ..Header::new(Algorithm::HS256)
        };
        let token = minted_under(&header, now(), now() + 60);
        assert_eq!(tokens("a").principal(&token), Err(Malformed));
    }

    proptest! {
        #[test]
        fn no_other_string_is_a_token(raw in prop_oneof!["\\PC*", "[A-Za-z0-9_-]{0,60}\\.[A-Za-z0-9_-]{0,60}\\.[A-Za-z0-9_-]{0,60}"]) {
            prop_assert_eq!(tokens("a").principal(&raw), Err(Malformed));
        }

        #[test]
        fn a_token_names_its_owner_and_is_refused_once_any_byte_is_another(
            id in 1_i64..,
            at: Index,
            other in 0_u8..128,
        ) {
            let tokens = tokens("a");
            let token = tokens.issue(account(id)).unwrap();
            prop_assert_eq!(tokens.principal(&token), Ok(account(id)));
            let refused = Err(Malformed);
            let mut forged = token.clone().into_bytes();
            let at = at.index(forged.len());
            forged[at] = other;
            let forged = String::from_utf8(forged).unwrap();
            prop_assume!(forged != token);
            prop_assert_eq!(tokens.principal(&forged), refused);
            prop_assert_eq!(tokens.principal(&token[..at]), refused, "cut off");
            prop_assert_eq!(tokens.principal(&format!("{token}{}", char::from(other))), refused, "longer");
        }
    }
}
