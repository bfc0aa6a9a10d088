//! Whose address counts: the one that the connection comes from, unless a trusted proxy names another.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::json;

use super::{THREE, account, address, email, limited};
use crate::support::{Answer, both_modes, within_a_minute};

/// A stranger who says to be somebody else each time, on connections from one address of the loopback.
struct Liar(reqwest::Client);

impl Liar {
    fn new() -> Self {
        let [_, b, c, d] = getrandom::u32().unwrap().to_be_bytes();
        let from = IpAddr::from(Ipv4Addr::new(127, b, c, d.clamp(1, 254)));
        let client = reqwest::Client::builder().local_address(from);
        Self(client.build().unwrap())
    }

    async fn registers(&self, base: &str) -> Answer {
        let body = json!({ "email": email(), "password": "correct horse" });
        let request = self.0.post(format!("{base}/auth/register"));
        let request = request.header("x-forwarded-for", address());
        Answer::of(request.body(body.to_string())).await
    }
}

/// Four registrations of a liar, and one of another: only the fourth is too many.
async fn lies_change_nothing(base: &str) {
    let answers = within_a_minute(async || {
        let liar = Liar::new();
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(liar.registers(base).await);
        }
        answers.push(Liar::new().registers(base).await);
        answers
    })
    .await;
    assert_eq!(limited(&answers), [false, false, false, true, false]);
}

/// Registrations behind a trusted proxy, each with what that forwards.
async fn register(base: &str, forwarded: &[String]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for addresses in forwarded {
        answers.push(account(base, "/auth/register", &email(), addresses).await);
    }
    answers
}

mod none_named {
    use crate::support::both_modes;

    both_modes! {
        with &[("LIMIT_REGISTER", "3")];

        async fn without_trusted_proxies_what_is_forwarded_is_not_believed(app) {
            super::lies_change_nothing(&app.server.base).await;
        }
    }
}

mod another_named {
    use crate::support::both_modes;

    both_modes! {
        with &[("LIMIT_REGISTER", "3"), ("TRUSTED_PROXIES", "192.0.2.0/24,10.0.0.0/8,::1/128")];

        async fn what_is_forwarded_by_others_than_the_trusted_proxies_is_not_believed(app) {
            super::lies_change_nothing(&app.server.base).await;
        }
    }
}

both_modes! {
    with THREE;

    async fn behind_a_trusted_proxy_each_forwarded_address_has_a_limit_of_its_own(app) {
        let answers = within_a_minute(async || {
            let (one, other) = (address(), address());
            let forwarded = [&one, &one, &one, &one, &other].map(String::clone);
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true, false]);
    }

    async fn what_a_client_says_to_a_trusted_proxy_before_its_own_address_gains_nothing(app) {
        let answers = within_a_minute(async || {
            let own = address();
            // The proxy adds at the end whom it was asked by; all before that is the client's invention.
            let forwarded = [(); 4].map(|()| format!("{}, {}, {own}", address(), address()));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true]);
    }

    async fn a_forged_header_beside_that_of_a_trusted_proxy_gains_nothing(app) {
        let url = format!("{}/auth/register", app.server.base);
        let answers = within_a_minute(async || {
            let (own, mut answers) = (address(), Vec::new());
            for _ in 0..4 {
                let body = json!({ "email": email(), "password": "correct horse" });
                let request = reqwest::Client::new().post(&url)
                    .header("x-forwarded-for", address())
                    .header("x-forwarded-for", &own);
                answers.push(Answer::of(request.body(body.to_string())).await);
            }
            answers
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true]);
    }

    async fn behind_a_row_of_trusted_proxies_the_last_stranger_counts(app) {
        let answers = within_a_minute(async || {
            let own = address();
            let forwarded = ["127.1.1.1", "127.2.2.2", "127.3.3.3, 127.4.4.4", "127.5.5.5"]
                .map(|inner| format!("{}, {own}, {inner}", address()));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true]);
    }

    /// A subscriber has all of it, and could come from another address each time.
    async fn addresses_of_one_ipv6_network_of_64_bits_share_a_limit(app) {
        let answers = within_a_minute(async || {
            let network = getrandom::u32().unwrap();
            let own = |host: u32| format!("2001:db8:{:x}:{:x}::{host}", network >> 16, network & 0xffff);
            let mut forwarded: Vec<_> = (1..=4).map(own).collect();
            forwarded.push(format!("2001:db9:{:x}:{:x}::1", network >> 16, network & 0xffff));
            register(&app.server.base, &forwarded).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true, false]);
    }
}
