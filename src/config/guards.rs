//! What clients may use up: connections, time, space. Every limit that turns somebody away is counted in
//! `shunt_limit_hits_total`.

use std::time::Duration;

use clap::Args;

use super::ConfigError;
use super::parse::{number, seconds};

/// Limits as given.
#[derive(Args, Clone)]
pub(super) struct GuardSettings {
    /// Open connections at most; further ones are answered 503 and closed.
    #[arg(
        long,
        env = "MAX_CONNECTIONS",
        default_value = "16384",
        value_name = "N"
    )]
    max_connections: String,
    /// API requests worked on at once; further ones are answered 503. Redirects are not among them, nor are
    /// registrations and log-ins, which wait for their turn to hash.
    #[arg(long, env = "MAX_REQUESTS", default_value = "512", value_name = "N")]
    max_requests: String,
    /// How long an API request may take before it is answered 503.
    #[arg(
        long,
        env = "REQUEST_TIMEOUT_SECONDS",
        default_value = "30",
        value_name = "SECONDS"
    )]
    request_timeout_seconds: String,
    /// How long a client may take to send a request's head, and to idle before it does.
    #[arg(
        long,
        env = "HEADER_TIMEOUT_SECONDS",
        default_value = "30",
        value_name = "SECONDS"
    )]
    header_timeout_seconds: String,
    /// Longest head of a request.
    #[arg(
        long,
        env = "MAX_HEADER_BYTES",
        default_value = "16384",
        value_name = "BYTES"
    )]
    max_header_bytes: String,
    /// How long a client may take to send a request's body.
    #[arg(
        long,
        env = "BODY_TIMEOUT_SECONDS",
        default_value = "10",
        value_name = "SECONDS"
    )]
    body_timeout_seconds: String,
    /// Largest body of a request.
    #[arg(
        long,
        env = "MAX_BODY_BYTES",
        default_value = "16384",
        value_name = "BYTES"
    )]
    max_body_bytes: String,
}

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
pub struct Guards {
    /// Open connections at most.
    pub max_connections: usize,
    /// API requests worked on at once.
    pub max_requests: usize,
    /// How long one of them may take.
    pub request_timeout: Duration,
    /// How long a head may take to arrive, idling included.
    pub header_timeout: Duration,
    /// Longest head.
    pub max_header_bytes: usize,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// Largest body.
    pub max_body_bytes: usize,
}

impl GuardSettings {
    pub(super) fn check(&self) -> Result<Guards, ConfigError> {
        Ok(Guards {
            max_connections: number("MAX_CONNECTIONS", &self.max_connections, 1..=10_000_000)?,
            max_requests: number("MAX_REQUESTS", &self.max_requests, 1..=1_000_000)?,
            request_timeout: seconds(
                "REQUEST_TIMEOUT_SECONDS",
                &self.request_timeout_seconds,
                1..=3_600,
            )?,
            header_timeout: seconds(
                "HEADER_TIMEOUT_SECONDS",
                &self.header_timeout_seconds,
                1..=3_600,
            )?,
            // The HTTP library reads no less at once.
            max_header_bytes: number(
                "MAX_HEADER_BYTES",
                &self.max_header_bytes,
                8_192..=1_048_576,
            )?,
            body_timeout: seconds(
                "BODY_TIMEOUT_SECONDS",
                &self.body_timeout_seconds,
                1..=3_600,
            )?,
            max_body_bytes: number("MAX_BODY_BYTES", &self.max_body_bytes, 1_024..=1_048_576)?,
        })
    }
}
