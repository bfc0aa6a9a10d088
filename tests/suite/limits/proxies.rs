//! Which address a limit counts: that of the connection, unless a trusted proxy names another.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;

use super::{THREE, account, address, email, limited};
use crate::support::{Response, both_modes, within_a_minute};

/// A client that forges another `X-Forwarded-For` each time, on connections from one address of the loopback.
struct Spoofer(reqwest::Client);

impl Spoofer {
    fn new() -> Self {
        let [_, b, c, d] = getrandom::u32().unwrap().to_be_bytes();
        let from = IpAddr::from(Ipv4Addr::new(127, b, c, d.clamp(1, 254)));
        let client = reqwest::Client::builder().local_address(from);
        Self(client.build().unwrap())
    }

    async fn registers(&self, base: &str) -> Response {
        let body = json!({ "email": email(), "password": "correct horse" });
        let request = self.0.post(format!("{base}/auth/register"));
        let request = request.header("x-forwarded-for", address());
        Response::of(request.body(body.to_string())).await
    }
}

/// Four registrations of one spoofer and one of another: only the fourth is past the limit.
async fn spoofing_changes_nothing(base: &str) {
    let responses = within_a_minute(async || {
        let spoofer = Spoofer::new();
        let mut responses = Vec::new();
        for _ in 0..4 {
            responses.push(spoofer.registers(base).await);
        }
        responses.push(Spoofer::new().registers(base).await);
        responses
    })
    .await;
    assert_eq!(limited(&responses), [false, false, false, true, false]);
}

/// Registrations through a trusted proxy, each with the addresses that the proxy forwards.
async fn register(base: &str, forwarded: &[String]) -> Vec<Response> {
    let mut responses = Vec::new();
    for addresses in forwarded {
        responses.push(account(base, "/auth/register", &email(), addresses).await);
    }
    responses
}

mod without_proxies {
    use crate::support::both_modes;

    both_modes! {
        with &[("LIMIT_REGISTER", "3")];

        async fn without_trusted_proxies_a_forwarded_address_is_ignored(app) {
            super::spoofing_changes_nothing(&app.server.base).await;
        }
    }
}

mod with_another_proxy {
    use crate::support::both_modes;

    both_modes! {
        with &[("LIMIT_REGISTER", "3"), ("TRUSTED_PROXIES", "192.0.2.0/24,10.0.0.0/8,::1/128")];

        async fn an_address_forwarded_by_an_untrusted_proxy_is_ignored(app) {
            super::spoofing_changes_nothing(&app.server.base).await;
        }
    }
}

both_modes! {
    with THREE;

    async fn behind_a_trusted_proxy_each_forwarded_address_has_a_limit_of_its_own(app) {
        let responses = within_a_minute(async || {
            let (one, other) = (address(), address());
            let forwarded = [&one, &one, &one, &one, &other].map(String::clone);
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true, false]);
    }

    async fn an_address_that_a_client_sends_to_a_trusted_proxy_is_ignored(app) {
        let responses = within_a_minute(async || {
            let own = address();
            // The proxy appends the address of its client; everything before it was sent by the client.
            let forwarded = [(); 4].map(|()| format!("{}, {}, {own}", address(), address()));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true]);
    }

    async fn a_forged_header_beside_that_of_a_trusted_proxy_is_ignored(app) {
        let url = format!("{}/auth/register", app.server.base);
        let responses = within_a_minute(async || {
            let (own, mut responses) = (address(), Vec::new());
            for _ in 0..4 {
                let body = json!({ "email": email(), "password": "correct horse" });
                let request = reqwest::Client::new().post(&url)
                    .header("x-forwarded-for", address())
                    .header("x-forwarded-for", &own);
                responses.push(Response::of(request.body(body.to_string())).await);
            }
            responses
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true]);
    }

    async fn behind_a_chain_of_trusted_proxies_the_last_untrusted_address_counts(app) {
        let responses = within_a_minute(async || {
            let own = address();
            let forwarded = ["127.1.1.1", "127.2.2.2", "127.3.3.3, 127.4.4.4", "127.5.5.5"]
                .map(|inner| format!("{}, {own}, {inner}", address()));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true]);
    }

    /// A subscriber has a whole network, and could use another address of it each time.
    async fn addresses_of_one_ipv6_network_of_64_bits_share_a_limit(app) {
        let responses = within_a_minute(async || {
            let network = getrandom::u32().unwrap();
            let own = |host: u32| format!("2001:db8:{:x}:{:x}::{host}", network >> 16, network & 0xffff);
            let mut forwarded: Vec<_> = (1..=4).map(own).collect();
            forwarded.push(format!("2001:db9:{:x}:{:x}::1", network >> 16, network & 0xffff));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true, false]);
    }
}
