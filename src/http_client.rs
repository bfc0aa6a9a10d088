//! HTTP as a client, of the service itself or of a collector of traces: blocking, no redirects.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

/// This machine trusts nobody, so that TLS leads nowhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "this machine has no root certificates ({0}); install ca-certificates or set SSL_CERT_FILE"
)]
pub struct NoRootCertificates(String);

/// For a service on this machine: without TLS, and never by way of a proxy.
#[must_use]
pub fn local_agent(patience: Duration) -> Agent {
    settings(patience).proxy(None).build().into()
}

/// For a service anywhere; proxies as the environment says.
///
/// # Errors
/// [`NoRootCertificates`], with TLS.
pub fn agent(patience: Duration, tls: bool) -> Result<Agent, NoRootCertificates> {
    let mut config = settings(patience);
    if tls {
        config = config.tls_config(trust()?);
    }
    Ok(config.build().into())
}

fn settings(patience: Duration) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .user_agent(concat!("shunt/", env!("CARGO_PKG_VERSION")))
        // A token goes where it was meant to go, and nowhere else.
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_global(Some(patience))
}

/// Whom this machine trusts: the same roots that the service takes for Postgres and Redis.
fn trust() -> Result<TlsConfig, NoRootCertificates> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map(ToString::to_string);
        return Err(NoRootCertificates(
            reason.unwrap_or_else(|| "none found".into()),
        ));
    }
    let roots: Vec<_> = found
        .certs
        .iter()
        .map(|root| Certificate::from_der(root).to_owned())
        .collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

/// What went wrong on the way, in words.
#[must_use]
pub fn fault(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "no answer in time".into(),
        error => error.to_string(),
    }
}
