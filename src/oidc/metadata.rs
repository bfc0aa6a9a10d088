//! How a provider describes itself (`OpenID` Connect Discovery 1.0, RFC 8414).

use serde::Deserialize;
use url::Url;

use super::fault::ProviderFault;
use crate::domain::Issuer;

/// What the document is called in messages.
pub(super) const NAME: &str = "discovery document";

/// The document, as far as it is used.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) jwks_uri: String,
    pub(super) userinfo_endpoint: Option<String>,
    pub(super) end_session_endpoint: Option<String>,
    #[serde(default)]
    pub(super) id_token_signing_alg_values_supported: Vec<String>,
    #[serde(default)]
    pub(super) response_types_supported: Vec<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) backchannel_logout_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl Metadata {
    /// The same document, if it is this provider's and names addresses that may be asked.
    pub(super) fn checked(self, issuer: &Issuer) -> Result<Self, ProviderFault> {
        if self.issuer != issuer.as_str() {
            return Err(ProviderFault::OtherIssuer(printable(&self.issuer)));
        }
        let endpoints = [
            ("authorization_endpoint", Some(&self.authorization_endpoint)),
            ("token_endpoint", Some(&self.token_endpoint)),
            ("jwks_uri", Some(&self.jwks_uri)),
            ("userinfo_endpoint", self.userinfo_endpoint.as_ref()),
            ("end_session_endpoint", self.end_session_endpoint.as_ref()),
        ];
        for (name, endpoint) in endpoints {
            let Some(endpoint) = endpoint else { continue };
            let url = Url::parse(endpoint).ok().filter(Url::has_host);
            let is_safe = url.is_some_and(|url| {
                url.scheme() == "https" || (url.scheme() == "http" && !issuer.is_https())
            });
            if !is_safe {
                let why = format!("names no https address as {name}");
                return Err(ProviderFault::Answer(NAME, why));
            }
        }
        Ok(self)
    }

    /// Whether the secret goes into the form, and not into a header: the provider takes it nowhere else.
    pub(super) fn takes_secret_in_form(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_some_and(|methods| {
            let has = |name: &str| methods.iter().any(|method| method == name);
            !has("client_secret_basic") && has("client_secret_post")
        })
    }

    /// Whether the provider takes no proof that is known here.
    pub(super) fn takes_no_secret(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_some_and(|methods| {
            let is_known =
                |method: &String| matches!(&**method, "client_secret_basic" | "client_secret_post");
            !methods.iter().any(is_known)
        })
    }
}

/// A name that another machine gave, as it may stand in a log.
fn printable(raw: &str) -> String {
    let printable = raw.chars().filter(|char| !char.is_control());
    printable.take(512).collect()
}
