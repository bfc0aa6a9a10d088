//! The HTTP client for a shunt service (command line, health check) and for a collector of traces. It blocks, and
//! follows no redirects. TLS for receivers of hooks has the same roots.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;

/// Sessions of TLS that are resumed, eight a server: a handshake costs more than a delivery.
const RESUMED: usize = 4_096;

/// This machine has no root certificates, so that no TLS connection can be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "this machine has no root certificates ({0}); install ca-certificates or set SSL_CERT_FILE"
)]
pub struct NoRootCertificates(String);

/// An agent for a service on this machine: without TLS and without a proxy.
#[must_use]
pub fn local_agent(deadline: Duration) -> Agent {
    settings(deadline).proxy(None).build().into()
}

/// An agent for a service on any machine; proxies come from the environment.
///
/// # Errors
/// [`NoRootCertificates`], with TLS.
pub fn agent(deadline: Duration, tls: bool) -> Result<Agent, NoRootCertificates> {
    let mut config = settings(deadline);
    if tls {
        config = config.tls_config(root_certificates()?);
    }
    Ok(config.build().into())
}

fn settings(deadline: Duration) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .user_agent(concat!("shunt/", env!("CARGO_PKG_VERSION")))
        // A token must not be sent on to another server.
        .max_redirects(0)
        .http_status_as_error(false)
        .timeout_global(Some(deadline))
}

/// The root certificates of this machine, which are also used for Postgres and Redis.
fn root_certificates() -> Result<TlsConfig, NoRootCertificates> {
    let roots: Vec<_> = native_certificates()?
        .iter()
        .map(|root| Certificate::from_der(root).to_owned())
        .collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

fn native_certificates() -> Result<Vec<CertificateDer<'static>>, NoRootCertificates> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reason = found.errors.first().map(ToString::to_string);
        return Err(NoRootCertificates(
            reason.unwrap_or_else(|| "none found".into()),
        ));
    }
    Ok(found.certs)
}

/// TLS for connections that do not block, with the same roots.
///
/// # Errors
/// [`NoRootCertificates`].
pub fn async_tls() -> Result<TlsConnector, NoRootCertificates> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(native_certificates()?);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the suites of these versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::in_memory_sessions(RESUMED);
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The message for an error of the transport.
#[must_use]
pub fn fault(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "no answer in time".into(),
        error => error.to_string(),
    }
}
