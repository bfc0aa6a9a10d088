//! Reads how the identity provider describes itself, from the start on: so a sign-in waits for one answer less, and the log says at once
//! if the provider cannot be reached.

use std::time::Duration;

use tokio::time::sleep;

use crate::oidc::Provider;
use crate::telemetry::throttle::FailureLog;

/// Pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Pause after an answer: it is read again before it is an hour old.
const PAUSE: Duration = Duration::from_mins(50);

pub(super) async fn run(provider: Provider) {
    let mut failures = FailureLog::new("asking the identity provider of OIDC_ISSUER");
    let mut pause = FIRST_PAUSE;
    tracing::info!(
        issuer = provider.issuer().as_str(),
        callback = provider.callback(),
        "people sign in by the identity provider, where the callback address has to be registered"
    );
    loop {
        let read = provider.refresh().await;
        failures.note(&read);
        if read.is_ok() {
            pause = FIRST_PAUSE;
            sleep(PAUSE).await;
        } else {
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }
}
