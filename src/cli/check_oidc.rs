//! `shunt config --check-oidc`: asks the identity provider what a sign-in needs of it.

use std::io::Write;
use std::sync::Arc;

use shunt::config::{BaseUrl, Config};
use shunt::domain::SystemClock;
use shunt::oidc::{Finding, Provider};
use shunt::server::provider_settings;

use super::Failure;
use super::output::{self, harmless};

/// Prints what is found, a line each, and fails if people could not sign in.
pub(super) fn run(config: &Config) -> Result<(), Failure> {
    let base_url = match &config.base_url {
        Some(base_url) => base_url.clone(),
        None => BaseUrl::parse(&format!("http://{}", config.bind)).map_err(Failure::Failed)?,
    };
    let Some(settings) = provider_settings(config, &base_url) else {
        let fault = "OIDC_ISSUER is not set: people sign in by passwords";
        return Err(Failure::Failed(fault.into()));
    };
    let provider = Provider::new(settings, Arc::new(SystemClock))
        .map_err(|error| Failure::Failed(format!("OIDC_ISSUER: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let found = runtime.block_on(provider.check());
    let mut out = output::stdout();
    for finding in &found {
        let (mark, text) = match finding {
            Finding::Good(text) => ("ok", text),
            Finding::Note(text) => ("note", text),
            Finding::Wrong(text) => ("WRONG", text),
        };
        writeln!(out, "{mark:6} {}", harmless(text))?;
    }
    let is_wrong = |finding: &&Finding| matches!(finding, Finding::Wrong(_));
    match found.iter().filter(is_wrong).count() {
        0 => Ok(()),
        _ => Err(Failure::Failed(
            "people cannot sign in by the identity provider; see the lines above".into(),
        )),
    }
}
