//! The provider, as the service asks it. How it describes itself and its keys are cached, and read again: after an hour, and for a token
//! that a new key has signed, a bounded number of times in a minute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::attempt::{BegunAttempt, ResumedAttempt};
use super::claims::{Claims, Expected, IdToken, LogoutClaims, LogoutToken};
use super::fault::{ProviderFault, TokenFault};
use super::keys::{self, KeySet, PublicKey};
use super::metadata::{self, Metadata};
use super::requests::{Proof, Requests};
use super::signed::Signed;
use crate::domain::{ClientSecret, Clock, Issuer};
use crate::http_client::NoRootCertificates;

/// How long the provider's description and keys are used.
const FRESH: Duration = Duration::from_hours(1);

/// How long a failure is remembered: sign-ins in between fail at once.
const FAILED: Duration = Duration::from_secs(1);

/// How often a token with an unknown key may have the keys read again, in a minute.
const NEW_KEYS_PER_MINUTE: u32 = 6;

const MINUTE: Duration = Duration::from_mins(1);

/// How the provider is asked.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Its name.
    pub issuer: Issuer,
    /// The name that it has for this service.
    pub client: String,
    /// What proves that it is this service.
    pub secret: Option<ClientSecret>,
    /// What is asked for.
    pub scopes: String,
    /// The public address of this service.
    pub base_url: String,
    /// Whether groups of people matter.
    pub needs_groups: bool,
}

/// One provider; cheap to clone.
#[derive(Clone)]
pub struct Provider {
    pub(super) settings: Arc<ProviderSettings>,
    pub(super) requests: Requests,
    known: Arc<Mutex<Known>>,
    clock: Arc<dyn Clock>,
}

/// What is known of the provider.
#[derive(Default)]
struct Known {
    described: Option<(Description, Instant)>,
    failed: Option<(ProviderFault, Instant)>,
    /// Since when reads for unknown keys are counted, and how many there were.
    new_keys: Option<(Instant, u32)>,
}

/// The provider's own words.
#[derive(Clone)]
pub(super) struct Description {
    pub(super) metadata: Arc<Metadata>,
    pub(super) keys: Arc<[PublicKey]>,
}

/// What the provider gives for a code.
#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    access_token: Option<String>,
}

impl Provider {
    /// The provider with these settings. Nothing is asked yet.
    ///
    /// # Errors
    /// [`NoRootCertificates`], with TLS.
    pub fn new(
        settings: ProviderSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NoRootCertificates> {
        Ok(Self {
            requests: Requests::new(settings.issuer.is_https())?,
            settings: Arc::new(settings),
            known: Arc::default(),
            clock,
        })
    }

    /// Its name.
    #[must_use]
    pub fn issuer(&self) -> &Issuer {
        &self.settings.issuer
    }

    /// Where it sends people back to.
    #[must_use]
    pub fn callback(&self) -> String {
        format!("{}/app/oidc/callback", self.settings.base_url)
    }

    /// Reads how it describes itself, and its keys, again.
    ///
    /// # Errors
    /// [`ProviderFault`].
    pub async fn refresh(&self) -> Result<(), ProviderFault> {
        let mut known = self.known.lock().await;
        self.read(&mut known).await.map(drop)
    }

    /// Where a person signs in.
    ///
    /// # Errors
    /// [`ProviderFault`].
    pub async fn authorization(&self, attempt: &BegunAttempt) -> Result<String, ProviderFault> {
        let description = self.description().await?;
        let mut url = address(&description.metadata.authorization_endpoint)?;
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client)
            .append_pair("redirect_uri", &self.callback())
            .append_pair("scope", &self.settings.scopes)
            .append_pair("state", &attempt.state)
            .append_pair("nonce", &attempt.nonce)
            .append_pair("code_challenge", &attempt.challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(url.into())
    }

    /// Where a person signs out there, to come back afterwards; `None`: the provider has no such page.
    ///
    /// # Errors
    /// [`ProviderFault`].
    pub async fn end_session(&self) -> Result<Option<String>, ProviderFault> {
        let description = self.description().await?;
        let Some(endpoint) = &description.metadata.end_session_endpoint else {
            return Ok(None);
        };
        let mut url = address(endpoint)?;
        let back = format!("{}/app/login", self.settings.base_url);
        url.query_pairs_mut()
            .append_pair("client_id", &self.settings.client)
            .append_pair("post_logout_redirect_uri", &back);
        Ok(Some(url.into()))
    }

    /// Who signed in, by the code that the browser brought. `issuer` is the name that came with it (RFC 9207).
    ///
    /// # Errors
    /// [`ProviderFault`].
    pub async fn identify(
        &self,
        attempt: &ResumedAttempt,
        code: &str,
        issuer: Option<&str>,
    ) -> Result<Claims, ProviderFault> {
        let description = self.description().await?;
        let metadata = &description.metadata;
        let is_named = issuer.is_some() || !metadata.authorization_response_iss_parameter_supported;
        if !is_named || issuer.is_some_and(|issuer| issuer != metadata.issuer) {
            return Err(TokenFault::Issuer.into());
        }
        let answer = self.redeem(metadata, attempt, code).await?;
        let token = answer.id_token.ok_or_else(|| {
            ProviderFault::Answer(
                "answer",
                "has no ID token; is `openid` a scope there?".into(),
            )
        })?;
        let claims = self.id_token(&token, &attempt.nonce).await?;
        let info = metadata.userinfo_endpoint.as_ref();
        let (Some(info), Some(access)) = (info, answer.access_token) else {
            return Ok(claims);
        };
        if !claims.lacks(self.settings.needs_groups) {
            return Ok(claims);
        }
        let proof = Proof::Header(format!("Bearer {access}"));
        let info: Claims = self.requests.get("user info", info, proof).await?;
        Ok(claims.with(info)?)
    }

    async fn redeem(
        &self,
        metadata: &Metadata,
        attempt: &ResumedAttempt,
        code: &str,
    ) -> Result<TokenAnswer, ProviderFault> {
        let (proof, form) = self.redemption(metadata, attempt, code);
        let endpoint = &metadata.token_endpoint;
        self.requests.post("answer", endpoint, proof, form).await
    }

    fn redemption(
        &self,
        metadata: &Metadata,
        attempt: &ResumedAttempt,
        code: &str,
    ) -> (Proof, String) {
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.callback())
            .append_pair("code_verifier", &attempt.verifier);
        let client = &self.settings.client;
        let proof = match &self.settings.secret {
            None => {
                form.append_pair("client_id", client);
                Proof::None
            }
            Some(secret) if metadata.takes_secret_in_form() => {
                form.append_pair("client_id", client)
                    .append_pair("client_secret", secret.expose());
                Proof::None
            }
            Some(secret) => {
                // RFC 6749, 2.3.1: both are encoded as in a form first.
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let both = format!("{}:{}", encoded(client), encoded(secret.expose()));
                Proof::Header(format!("Basic {}", BASE64_STANDARD.encode(both)))
            }
        };
        (proof, form.finish())
    }

    async fn id_token(&self, token: &str, nonce: &str) -> Result<Claims, ProviderFault> {
        let signed = Signed::parse(token)?;
        let said: IdToken = self.signed_claims(&signed).await?;
        Ok(said.checked(&self.expected(), nonce)?)
    }

    /// Whose sessions end, by a token that the provider sent.
    ///
    /// # Errors
    /// [`ProviderFault`].
    pub async fn logout_token(&self, token: &str) -> Result<LogoutClaims, ProviderFault> {
        let signed = Signed::parse(token)?;
        if !matches!(signed.kind(), None | Some("JWT" | "jwt" | "logout+jwt")) {
            return Err(TokenFault::Claim("typ").into());
        }
        let said: LogoutToken = self.signed_claims(&signed).await?;
        Ok(said.checked(&self.expected())?)
    }

    fn expected(&self) -> Expected<'_> {
        Expected {
            issuer: self.settings.issuer.as_str(),
            client: &self.settings.client,
            now: self.clock.now(),
        }
    }

    async fn signed_claims<T: serde::de::DeserializeOwned>(
        &self,
        signed: &Signed<'_>,
    ) -> Result<T, ProviderFault> {
        let before = self.description().await?;
        match signed.claims(&before.keys) {
            Err(TokenFault::UnknownKey) => {}
            read => return Ok(read?),
        }
        let keys = self.newer_keys(&before).await?;
        Ok(signed.claims(&keys)?)
    }

    /// The keys that the provider has by now, unless they were read too often.
    async fn newer_keys(&self, before: &Description) -> Result<Arc<[PublicKey]>, ProviderFault> {
        let mut known = self.known.lock().await;
        if let Some((now, _)) = &known.described
            && !Arc::ptr_eq(&now.keys, &before.keys)
        {
            // Another sign-in had them read meanwhile.
            return Ok(Arc::clone(&now.keys));
        }
        if !known.may_read_new_keys() {
            return Err(TokenFault::UnknownKey.into());
        }
        Ok(self.read(&mut known).await?.keys)
    }

    pub(super) async fn description(&self) -> Result<Description, ProviderFault> {
        let mut known = self.known.lock().await;
        if let Some((description, read)) = &known.described
            && read.elapsed() < FRESH
        {
            return Ok(description.clone());
        }
        match &known.failed {
            Some((fault, failed)) if failed.elapsed() < FAILED => Err(fault.clone()),
            _ => self.read(&mut known).await,
        }
    }

    async fn read(&self, known: &mut Known) -> Result<Description, ProviderFault> {
        let read = self.read_description().await;
        match &read {
            Ok(description) => {
                known.described = Some((description.clone(), Instant::now()));
                known.failed = None;
            }
            Err(fault) => known.failed = Some((fault.clone(), Instant::now())),
        }
        read
    }

    async fn read_description(&self) -> Result<Description, ProviderFault> {
        let metadata = self.read_metadata().await?.checked(&self.settings.issuer)?;
        let keys = self.read_keys(&metadata).await?;
        Ok(Description {
            metadata: Arc::new(metadata),
            keys: keys.into(),
        })
    }

    pub(super) async fn read_metadata(&self) -> Result<Metadata, ProviderFault> {
        let discovery = self.settings.issuer.discovery();
        let read = self.requests.get(metadata::NAME, &discovery, Proof::None);
        read.await
    }

    pub(super) async fn read_keys(
        &self,
        metadata: &Metadata,
    ) -> Result<Vec<PublicKey>, ProviderFault> {
        let uri = &metadata.jwks_uri;
        let read: KeySet = self.requests.get(keys::NAME, uri, Proof::None).await?;
        let usable = read.public_keys();
        if usable.is_empty() {
            let why = "has no key for RS256, ES256 or EdDSA";
            return Err(ProviderFault::Answer(keys::NAME, why.into()));
        }
        Ok(usable)
    }
}

impl Known {
    fn may_read_new_keys(&mut self) -> bool {
        let (since, reads) = match self.new_keys {
            Some((since, reads)) if since.elapsed() < MINUTE => (since, reads),
            _ => (Instant::now(), 0),
        };
        self.new_keys = Some((since, reads + 1));
        reads < NEW_KEYS_PER_MINUTE
    }
}

fn address(endpoint: &str) -> Result<Url, ProviderFault> {
    // It was read before.
    Url::parse(endpoint)
        .map_err(|error| ProviderFault::Answer(metadata::NAME, format!("is invalid: {error}")))
}
