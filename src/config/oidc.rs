//! Signing in by the accounts that people already have, and what passwords are still for.

use clap::{ArgAction, Args};

use super::parse::{on_or_off, yes_or_no};
use super::setting::{Optional, optional, setting};
use super::{ConfigError, SecretFiles};
use crate::domain::{ClientSecret, Issuer, PasswordUse, TwoFactorRule};

/// Longest name that a provider gives.
const MAX_NAME: usize = 255;

/// Signing in by `OpenID` Connect.
#[derive(Args, Clone, Debug)]
pub struct OidcSettings {
    /// The `OpenID` provider by which people sign in to the pages: its issuer, letter by letter as the provider writes it, such as
    /// `https://login.example.org/realms/home`.
    ///
    /// Register `BASE_URL` + `/app/oidc/callback` there as the callback address. `shunt config --check-oidc` says what is wrong, and
    /// `deploy/oidc.md` has examples.
    #[arg(long, env = "OIDC_ISSUER", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(Issuer::parse))]
    pub oidc_issuer: Optional<Issuer>,
    /// The name that the provider has for this service.
    #[arg(long, env = "OIDC_CLIENT_ID", value_name = "ID")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(name))]
    pub oidc_client_id: Optional<String>,
    /// The secret that goes with that name. Unset: the provider knows this service as a public client, by PKCE only.
    #[arg(
        long,
        env = "OIDC_CLIENT_SECRET",
        value_name = "SECRET",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(ClientSecret::parse))]
    pub oidc_client_secret: Optional<ClientSecret>,
    /// What the provider is asked for, with spaces between; `openid` is always asked for. Add the scope of groups if the provider
    /// has one.
    #[arg(long, env = "OIDC_SCOPES", value_name = "SCOPES")]
    #[arg(default_value = "openid email profile", value_parser = setting(scopes))]
    pub oidc_scopes: String,
    /// The group, by its name in the claim `groups`, whose members administer the service: each sign-in by the provider gives the
    /// role or takes it. Unset: `shunt admin grant` gives it.
    #[arg(long, env = "OIDC_ADMIN_GROUP", value_name = "GROUP")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(name))]
    pub oidc_admin_group: Optional<String>,
    /// Let people sign in to the pages by the provider only. Passwords are still for the API, unless `PASSWORD_LOGIN` is `off`.
    #[arg(
        long,
        env = "OIDC_ONLY",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    #[arg(default_value = "false", value_parser = setting(yes_or_no), action = ArgAction::Set)]
    pub oidc_only: bool,
    /// Whether passwords log in: `on`, or `off`: neither to the pages nor to the API (403), which is for API keys then.
    #[arg(long, env = "PASSWORD_LOGIN", value_name = "WHICH")]
    #[arg(action = ArgAction::Set, default_value = "on", value_parser = setting(on_or_off))]
    pub password_login: bool,
    /// Whose accounts need a second factor: `none`, `administrators` or `all`. Such an account without one is led to set it up once
    /// it has signed in to the pages, and can do nothing else until then; the API's log-in is 403. Who signs in by the identity
    /// provider needs no further factor.
    #[arg(long, env = "REQUIRE_TWO_FACTORS", value_name = "WHO")]
    #[arg(default_value = "none", value_parser = setting(TwoFactorRule::parse))]
    pub require_two_factors: TwoFactorRule,
}

impl OidcSettings {
    /// What passwords are for.
    #[must_use]
    pub fn passwords(&self) -> PasswordUse {
        match (self.password_login, self.oidc_only) {
            (false, _) => PasswordUse::Nowhere,
            (true, true) => PasswordUse::Api,
            (true, false) => PasswordUse::Everywhere,
        }
    }

    /// Reads the secret from its file.
    pub(super) fn fill(&mut self, files: &SecretFiles) -> Result<(), ConfigError> {
        let secret = &mut self.oidc_client_secret;
        files.fill("OIDC_CLIENT_SECRET", secret, ClientSecret::parse)
    }

    /// Whether the settings agree with each other.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name, fault: &str| Err(ConfigError::new(name, fault));
        if self.oidc_issuer.is_some() {
            return match self.oidc_client_id {
                Some(_) => Ok(()),
                None => wrong(
                    "OIDC_CLIENT_ID",
                    "is needed with OIDC_ISSUER; give the client ID that the provider has for this service",
                ),
            };
        }
        let missing = "needs OIDC_ISSUER, without which there is no other way to sign in; set it, too, or unset this";
        for (name, is_given) in [
            ("OIDC_CLIENT_ID", self.oidc_client_id.is_some()),
            ("OIDC_CLIENT_SECRET", self.oidc_client_secret.is_some()),
            ("OIDC_ADMIN_GROUP", self.oidc_admin_group.is_some()),
            ("OIDC_ONLY", self.oidc_only),
            ("PASSWORD_LOGIN", !self.password_login),
        ] {
            if is_given {
                return wrong(name, missing);
            }
        }
        Ok(())
    }
}

/// A name that the provider gives.
fn name(raw: &str) -> Result<String, String> {
    if raw.len() > MAX_NAME || raw.chars().any(char::is_control) {
        return Err("must be the name as the provider has it, in one line".into());
    }
    Ok(raw.to_owned())
}

/// Scopes, of which the first is always `openid`.
fn scopes(raw: &str) -> Result<String, String> {
    // RFC 6749, 3.3.
    let is_scope = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b','))
    };
    let words: Vec<_> = raw.split(' ').filter(|word| !word.is_empty()).collect();
    if raw.len() > MAX_NAME || !words.iter().all(is_scope) {
        return Err("must be scopes with spaces between, such as `openid email profile`".into());
    }
    let others = words.into_iter().filter(|word| *word != "openid");
    Ok(std::iter::once("openid")
        .chain(others)
        .collect::<Vec<_>>()
        .join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openid_is_always_among_the_scopes() {
        for (raw, read) in [
            ("openid email profile", "openid email profile"),
            ("email  groups", "openid email groups"),
            ("", "openid"),
        ] {
            assert_eq!(scopes(raw).unwrap(), read);
        }
        for raw in ["openid,email", "openid\temail", "a\"b"] {
            assert!(scopes(raw).is_err(), "{raw}");
        }
    }
}
