//! Settings that are allowed and risky: the log of the start warns of each.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::config::Config;
use crate::domain::TokenSecret;

/// Shortest prefixes of a network of proxies: `10.0.0.0/8` and `fc00::/7` are the largest private networks.
const SHORTEST_V4: u8 = 8;
const SHORTEST_V6: u8 = 7;

/// Logs a warning for each.
pub(super) fn warn(config: &Config) {
    let is_local = |address: IpAddr| address.to_canonical().is_loopback();
    if config.metrics_bind.is_none() && !is_local(config.bind.ip()) {
        tracing::warn!(
            "METRICS_BIND: is not set, so that everybody who reaches {} reads /metrics there; give an address such as 127.0.0.1:9464",
            config.bind
        );
    }
    for network in config.trusted_proxies.iter().filter(|net| is_wide(net)) {
        tracing::warn!(
            "TRUSTED_PROXIES: {network} lets nearly everybody claim any address, so that no limit by address holds; give the addresses of your proxies alone"
        );
    }
    if let Some(issuer) = &config.oidc.oidc_issuer
        && !issuer.is_https()
        && issuer.host() != "localhost"
        && !issuer.host().parse().is_ok_and(is_local)
    {
        tracing::warn!(
            "OIDC_ISSUER: is asked without TLS: anyone on the way can sign in as any person; give an https: address"
        );
    }
    for (name, secret) in [
        ("JWT_SECRET", &config.jwt_secret),
        ("JWT_SECRET_PREVIOUS", &config.jwt_secret_previous),
    ] {
        if !secret.as_ref().is_some_and(TokenSecret::has_pattern) {
            continue;
        }
        tracing::warn!(
            "{name}: follows a pattern, so it can be guessed, and whoever guesses it can log in as anybody; give a random secret, such as the output of `openssl rand -hex 32`"
        );
    }
}

fn is_wide(network: &IpNet) -> bool {
    match network {
        IpNet::V4(network) => network.prefix_len() < SHORTEST_V4,
        IpNet::V6(network) => network.prefix_len() < SHORTEST_V6,
    }
}
