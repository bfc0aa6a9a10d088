//! What clients may use up: connections, time, space. Every refusal by one of these limits is counted in
//! `shunt_limit_hits_total`.

use std::time::Duration;

use clap::Args;

use super::setting::{milliseconds, number, seconds};

/// What clients may use up.
#[derive(Args, Clone, Copy, Debug)]
pub struct Guards {
    /// Most open connections; more connections are answered 503 and closed.
    ///
    /// Fewer if the system's limit of open files is lower.
    #[arg(long, env = "MAX_CONNECTIONS", value_name = "N")]
    #[arg(default_value = "16384", value_parser = number(1..=10_000_000_usize))]
    pub max_connections: usize,
    /// Most open connections of one address (for IPv6, of one /64); more connections are answered 429 and closed. 0: no limit.
    ///
    /// Never more than a quarter of `MAX_CONNECTIONS`. `TRUSTED_PROXIES` are not limited: they limit their clients themselves,
    /// as `deploy/nginx` does. With 0, addresses have no share of requests and memory, either; accounts still have theirs.
    #[arg(long, env = "MAX_CONNECTIONS_PER_ADDRESS", value_name = "N")]
    #[arg(default_value = "512", value_parser = number(0..=10_000_000_usize))]
    pub max_connections_per_address: usize,
    /// API requests worked on at the same time; more requests are answered 503. This does not concern redirects, nor
    /// registrations and log-ins, which wait for their turn to hash.
    ///
    /// Once half are worked on, an account and an address may have at most a quarter. Requests with unfinished bodies are not
    /// worked on; an account and an address may have a quarter of this number of them, and more are answered 429. For each of
    /// `HASHING_CONCURRENCY`, up to 256 registrations and log-ins wait, and clients take turns by address. Up to 32 whole lists
    /// of links are sent at the same time, four of them to one account and eight to one address.
    #[arg(long, env = "MAX_REQUESTS", value_name = "N")]
    #[arg(default_value = "512", value_parser = number(1..=1_000_000_usize))]
    pub max_requests: usize,
    /// How long API requests may wait more than 5 ms for a connection to Postgres, without a break, before requests that waited
    /// this long are answered 503. 0: requests wait up to their deadline.
    #[arg(
        long = "database-queue-ms",
        env = "DATABASE_QUEUE_MS",
        value_name = "MS"
    )]
    #[arg(default_value = "100", value_parser = milliseconds(0..=60_000))]
    pub database_queue: Duration,
    /// How long an API request may take before it is answered 503.
    #[arg(
        long = "request-timeout-seconds",
        env = "REQUEST_TIMEOUT_SECONDS",
        value_name = "SECONDS"
    )]
    #[arg(default_value = "30", value_parser = seconds(1..=3_600))]
    pub request_timeout: Duration,
    /// How long a client may take to send a request's head, and to idle before it does.
    #[arg(
        long = "header-timeout-seconds",
        env = "HEADER_TIMEOUT_SECONDS",
        value_name = "SECONDS"
    )]
    #[arg(default_value = "30", value_parser = seconds(1..=3_600))]
    pub header_timeout: Duration,
    /// How fast a client must read a response, in bytes per second over 10 s; a slower client is cut off. 0: it must only read
    /// something every 30 s.
    ///
    /// Up to 128 MiB are kept of bodies that clients are sending and of responses that they have not read, at most a quarter of
    /// it for one account and one address. Data beyond 16 KiB for which there is no room is answered 429 or 503.
    #[arg(long, env = "MIN_READ_BYTES_PER_SECOND", value_name = "BYTES")]
    #[arg(default_value = "4096", value_parser = number(0..=1_000_000_000_u32))]
    pub min_read_bytes_per_second: u32,
    /// Longest head of a request, with at most 100 headers, whose names take at most 4,096 bytes. A longer head is answered
    /// 431, or 414 if its first line already exceeds the limit.
    // The HTTP library reads 8 KiB at least.
    #[arg(long, env = "MAX_HEADER_BYTES", value_name = "BYTES")]
    #[arg(default_value = "16384", value_parser = number(8_192..=1_048_576_usize))]
    pub max_header_bytes: usize,
    /// How long a client may take to send a request's body; then it is answered 408.
    #[arg(
        long = "body-timeout-seconds",
        env = "BODY_TIMEOUT_SECONDS",
        value_name = "SECONDS"
    )]
    #[arg(default_value = "10", value_parser = seconds(1..=3_600))]
    pub body_timeout: Duration,
    /// Largest body of a request; a larger body is answered 413. A link, as JSON or as a form, may be three times as large, and its
    /// rules may take 128 KiB more.
    #[arg(long, env = "MAX_BODY_BYTES", value_name = "BYTES")]
    #[arg(default_value = "16384", value_parser = number(1_024..=1_048_576_usize))]
    pub max_body_bytes: usize,
}

#[cfg(test)]
impl Guards {
    /// For tests of what uses nothing up.
    pub(crate) fn smallest() -> Self {
        Self {
            max_connections: 1,
            max_connections_per_address: 1,
            min_read_bytes_per_second: 0,
            max_requests: 1,
            database_queue: Duration::ZERO,
            request_timeout: Duration::ZERO,
            header_timeout: Duration::ZERO,
            max_header_bytes: 1,
            body_timeout: Duration::ZERO,
            max_body_bytes: 1,
        }
    }
}
