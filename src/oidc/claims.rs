//! What a token must say to be believed (`OpenID` Connect Core 1.0, 3.1.3.7; Back-Channel Logout 1.0, 2.6).

use serde::Deserialize;
use serde_json::Value;

use super::fault::TokenFault;
use crate::domain::Timestamp;

/// How far the clocks of the provider and of the service may differ.
const SKEW_SECONDS: f64 = 60.0;

/// How old a logout token without an end may be.
const LOGOUT_SECONDS: f64 = 300.0;

/// Longest name of a person or of a session.
const MAX_NAME: usize = 255;

/// The event of a logout token.
const LOGOUT: &str = "http://schemas.openid.net/event/backchannel-logout";

/// Whom a token is for.
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) now: Timestamp,
}

/// What the provider says of a person: in the ID token, or as user info.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Claims {
    #[serde(default)]
    sub: String,
    email: Option<String>,
    email_verified: Option<Value>,
    /// Entra's word for the same.
    xms_edov: Option<Value>,
    groups: Option<Value>,
    sid: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn has(&self, client: &str) -> bool {
        match self {
            Self::One(one) => one == client,
            Self::Several(all) => all.iter().any(|one| one == client),
        }
    }

    fn has_others(&self) -> bool {
        matches!(self, Self::Several(all) if all.len() > 1)
    }
}

/// What every token of the provider says.
#[derive(Deserialize)]
struct Common {
    iss: Option<String>,
    aud: Option<Audience>,
    azp: Option<String>,
    exp: Option<f64>,
    iat: Option<f64>,
    nbf: Option<f64>,
    nonce: Option<String>,
    events: Option<Value>,
}

/// An ID token whose signature is right.
#[derive(Deserialize)]
pub(super) struct IdToken {
    #[serde(flatten)]
    common: Common,
    #[serde(flatten)]
    claims: Claims,
}

/// A logout token whose signature is right.
#[derive(Deserialize)]
pub(super) struct LogoutToken {
    #[serde(flatten)]
    common: Common,
    sub: Option<String>,
    sid: Option<String>,
}

/// Whose sessions end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutClaims {
    /// The person.
    pub subject: Option<String>,
    /// The session at the provider; `None`: all of the person.
    pub session: Option<String>,
}

impl Common {
    /// Whether it is this provider's, for this client, and not of the future.
    fn check(&self, expected: &Expected<'_>) -> Result<(), TokenFault> {
        if self.iss.as_deref() != Some(expected.issuer) {
            return Err(TokenFault::Issuer);
        }
        let audience = self.aud.as_ref().ok_or(TokenFault::Claim("aud"))?;
        if !audience.has(expected.client) {
            return Err(TokenFault::Audience);
        }
        match self.azp.as_deref() {
            Some(party) if party != expected.client => return Err(TokenFault::AuthorizedParty),
            // With several audiences it has to say for whom it was made.
            None if audience.has_others() => return Err(TokenFault::AuthorizedParty),
            _ => {}
        }
        let now = seconds(expected.now);
        let issued = self.iat.ok_or(TokenFault::Claim("iat"))?;
        if issued > now + SKEW_SECONDS || self.nbf.is_some_and(|nbf| nbf > now + SKEW_SECONDS) {
            return Err(TokenFault::Early);
        }
        Ok(())
    }
}

fn has_expired(end: f64, now: Timestamp) -> bool {
    end.is_nan() || end <= seconds(now) - SKEW_SECONDS
}

impl IdToken {
    /// What it says of a person, if it answers the sign-in with this nonce.
    pub(super) fn checked(
        self,
        expected: &Expected<'_>,
        nonce: &str,
    ) -> Result<Claims, TokenFault> {
        self.common.check(expected)?;
        let end = self.common.exp.ok_or(TokenFault::Claim("exp"))?;
        if has_expired(end, expected.now) {
            return Err(TokenFault::Expired);
        }
        // A logout token is no ID token.
        if self.common.nonce.as_deref() != Some(nonce) || self.common.events.is_some() {
            return Err(TokenFault::Nonce);
        }
        if !is_name(&self.claims.sub) {
            return Err(TokenFault::Claim("sub"));
        }
        if self.claims.sid.as_deref().is_some_and(|sid| !is_name(sid)) {
            return Err(TokenFault::Claim("sid"));
        }
        Ok(self.claims)
    }
}

impl LogoutToken {
    /// Whose sessions end.
    pub(super) fn checked(self, expected: &Expected<'_>) -> Result<LogoutClaims, TokenFault> {
        self.common.check(expected)?;
        let issued = self.common.iat.unwrap_or_default();
        let end = self.common.exp.unwrap_or(issued + LOGOUT_SECONDS);
        if has_expired(end, expected.now) {
            return Err(TokenFault::Expired);
        }
        let events = self.common.events.as_ref();
        let event = events.and_then(|events| events.get(LOGOUT));
        if !event.is_some_and(Value::is_object) {
            return Err(TokenFault::Claim("events"));
        }
        // So that no ID token is taken for it.
        if self.common.nonce.is_some() {
            return Err(TokenFault::Nonce);
        }
        if [&self.sub, &self.sid]
            .into_iter()
            .flatten()
            .any(|name| !is_name(name))
        {
            return Err(TokenFault::Claim("sub or sid"));
        }
        if self.sub.is_none() && self.sid.is_none() {
            return Err(TokenFault::Claim("sub or sid"));
        }
        Ok(LogoutClaims {
            subject: self.sub,
            session: self.sid,
        })
    }
}

impl Claims {
    /// The provider's name of the person, which never changes.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.sub
    }

    /// The e-mail address.
    #[must_use]
    pub fn email(&self) -> Option<&str> {
        self.email.as_deref()
    }

    /// Whether the provider vouches for the address.
    #[must_use]
    pub fn is_email_verified(&self) -> bool {
        let is_true = |value: &Value| {
            matches!(value, Value::Bool(true)) || value == "true" || value == "1" || value == 1
        };
        [&self.email_verified, &self.xms_edov]
            .into_iter()
            .flatten()
            .any(is_true)
    }

    /// Whether the person is in a group; `None` if the provider says nothing of groups.
    #[must_use]
    pub fn is_in_group(&self, name: &str) -> Option<bool> {
        match self.groups.as_ref()? {
            Value::Array(groups) => Some(groups.iter().any(|group| group == name)),
            Value::String(group) => Some(group == name),
            _ => Some(false),
        }
    }

    /// The session at the provider.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.sid.as_deref()
    }

    /// Whether the user info may say more.
    pub(super) fn lacks(&self, needs_groups: bool) -> bool {
        self.email.is_none() || (needs_groups && self.groups.is_none())
    }

    /// With what the user info adds.
    pub(super) fn with(self, info: Self) -> Result<Self, TokenFault> {
        if self.sub != info.sub {
            return Err(TokenFault::Subject);
        }
        // The address and what is said of it come from one place.
        let (email, email_verified, xms_edov) = if self.email.is_some() {
            (self.email, self.email_verified, self.xms_edov)
        } else {
            (info.email, info.email_verified, info.xms_edov)
        };
        Ok(Self {
            email,
            email_verified,
            xms_edov,
            groups: self.groups.or(info.groups),
            sub: self.sub,
            sid: self.sid,
        })
    }
}

fn is_name(raw: &str) -> bool {
    !raw.is_empty() && raw.len() <= MAX_NAME && !raw.chars().any(char::is_control)
}

#[expect(clippy::cast_precision_loss, reason = "seconds of this age are exact")]
fn seconds(moment: Timestamp) -> f64 {
    moment.unix_seconds() as f64
}

#[cfg(test)]
mod tests;
