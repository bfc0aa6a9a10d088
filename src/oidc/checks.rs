//! What is wrong with the settings or with the provider, step by step and each in a sentence that says what to do.

use super::fault::ProviderFault;
use super::keys::Algorithm;
use super::metadata::Metadata;
use super::provider::Provider;

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is as it should be.
    Good(String),
    /// People can sign in, but something is missing.
    Note(String),
    /// People cannot sign in.
    Wrong(String),
}

impl Provider {
    /// Walks through what a sign-in needs of the provider.
    pub async fn check(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let issuer = self.issuer().clone();
        let metadata = match self.read_metadata().await {
            Ok(metadata) => metadata,
            Err(fault) => {
                found.push(Finding::Wrong(unreadable(&fault)));
                return found;
            }
        };
        found.push(Finding::Good(format!(
            "{} describes itself",
            issuer.discovery()
        )));
        let metadata = match metadata.checked(&issuer) {
            Ok(metadata) => metadata,
            Err(fault) => {
                found.push(Finding::Wrong(format!("{fault}.")));
                return found;
            }
        };
        found.push(Finding::Good(format!("issuer: {}", issuer.as_str())));
        self.check_metadata(&metadata, &mut found);
        self.check_keys(&metadata, &mut found).await;
        self.note_addresses(&metadata, &mut found);
        found
    }

    fn check_metadata(&self, metadata: &Metadata, found: &mut Vec<Finding>) {
        let named = &metadata.id_token_signing_alg_values_supported;
        let ours = named.iter().filter(|name| Algorithm::named(name).is_some());
        let ours: Vec<_> = ours.map(String::as_str).collect();
        found.push(if named.is_empty() {
            Finding::Note("the provider does not say how it signs; RS256, ES256 and EdDSA are accepted.".into())
        } else if ours.is_empty() {
            Finding::Wrong(format!(
                "the provider signs by {} only; let it sign the ID tokens of this client by RS256, ES256 or EdDSA.",
                named.join(", ")
            ))
        } else {
            Finding::Good(format!("signs by {}", ours.join(", ")))
        });
        let lacks =
            |all: &[String], word: &str| !all.is_empty() && all.iter().all(|one| one != word);
        if lacks(&metadata.response_types_supported, "code") {
            found.push(Finding::Wrong(
                "the provider does not offer the code flow (response type `code`); allow it there."
                    .into(),
            ));
        }
        if lacks(&metadata.code_challenge_methods_supported, "S256") {
            found.push(Finding::Wrong(
                "the provider does not offer PKCE by S256; allow it there.".into(),
            ));
        } else if metadata.code_challenge_methods_supported.is_empty() {
            found.push(Finding::Note(
                "the provider does not say that it offers PKCE (S256), which is sent in any case."
                    .into(),
            ));
        }
        if self.settings.secret.is_some() && metadata.takes_no_secret() {
            found.push(Finding::Wrong(
                "the provider takes no client secret; choose client_secret_basic or client_secret_post for this client there.".into(),
            ));
        }
        for scope in self.settings.scopes.split(' ') {
            if lacks(&metadata.scopes_supported, scope) {
                found.push(Finding::Note(format!(
                    "the provider does not list the scope `{scope}` of OIDC_SCOPES."
                )));
            }
        }
    }

    async fn check_keys(&self, metadata: &Metadata, found: &mut Vec<Finding>) {
        found.push(match self.read_keys(metadata).await {
            Ok(keys) => Finding::Good(format!("{} keys that can be used", keys.len())),
            Err(fault) => Finding::Wrong(unreadable(&fault)),
        });
    }

    fn note_addresses(&self, metadata: &Metadata, found: &mut Vec<Finding>) {
        if metadata.end_session_endpoint.is_none() {
            found.push(Finding::Note(
                "the provider has no page for signing out (end_session_endpoint): people stay signed in there.".into(),
            ));
        }
        let base = &self.settings.base_url;
        let mut addresses = vec![
            ("callback address (redirect URI)", self.callback()),
            (
                "address after signing out (post-logout redirect URI)",
                format!("{base}/app/login"),
            ),
        ];
        if metadata.backchannel_logout_supported {
            let address = format!("{base}/app/oidc/backchannel-logout");
            addresses.push(("back-channel logout address", address));
        }
        for (what, address) in addresses {
            found.push(Finding::Note(format!("register as {what}: {address}")));
        }
    }
}

/// What to do about a document that cannot be read.
fn unreadable(fault: &ProviderFault) -> String {
    let remedy = match fault {
        ProviderFault::Unreachable(..) => "is it running, and can this machine reach it?",
        ProviderFault::Status(_, 404, _) => {
            "is OIDC_ISSUER the provider's issuer, with its realm or application?"
        }
        _ => "is OIDC_ISSUER the issuer of an OpenID provider?",
    };
    format!("{fault}; {remedy}")
}
