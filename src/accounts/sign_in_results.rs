//! What becomes of sign-ins by the identity provider, as metrics name it.

use crate::telemetry::metrics::PROVIDER_SIGN_INS;

/// What becomes of sign-ins, as metrics name it.
const RESULTS: [&str; 9] = [
    "signed_in",
    "expired",
    "denied",
    "email",
    "refused",
    "token",
    "answer",
    "unreachable",
    "failed",
];

/// Publishes the metric before the first sign-in.
pub(super) fn publish() {
    for result in RESULTS {
        metrics::counter!(PROVIDER_SIGN_INS, "result" => result).increment(0);
    }
}
