//! The address of the client, through trusted proxies, and whether the client still waits.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use tokio_util::sync::CancellationToken;

use crate::accounts::Client;
use crate::domain::canonical_address;

/// The header in which proxies name the addresses that requests came from.
pub const FORWARDED_FOR: &str = "x-forwarded-for";

/// The address of the client's end of a connection, put into the request by the worker.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Proxies whose `X-Forwarded-For` and `traceparent` are believed; put into the request by the server.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(pub Arc<[IpNet]>);

impl TrustedProxies {
    /// Whether this is the address of a trusted proxy.
    #[must_use]
    pub fn trust(&self, address: IpAddr) -> bool {
        self.0
            .iter()
            .any(|network| network.contains(&address.to_canonical()))
    }

    /// The client behind `peer`. Each proxy appends the address that it got the request from, so the list is read from its
    /// end, up to the first address that is not a trusted proxy.
    fn client<'a>(
        &self,
        peer: IpAddr,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> IpAddr {
        let mut client = peer;
        let lines = forwarded_for.rev();
        for hop in lines.flat_map(|line| line.rsplit(|byte| *byte == b',')) {
            if !self.trust(client) {
                break;
            }
            let hop = std::str::from_utf8(hop).unwrap_or_default();
            match address_of(hop.trim()) {
                Some(address) => client = address,
                None => break,
            }
        }
        client
    }
}

/// Some proxies write a port after the address, and brackets around an IPv6 address.
fn address_of(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']'));
    let with_port = || hop.parse().ok().map(|socket: SocketAddr| socket.ip());
    bare.unwrap_or(hop).parse().ok().or_else(with_port)
}

/// The client's address as text, for limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddress(String);

impl ClientAddress {
    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The client at this address. One of IPv6 is its /64: a subscriber has all of it. An address of IPv4 that a network on the way
    /// has written as IPv6 is that one: clients behind such a network do not share a /64.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match canonical_address(address) {
            IpAddr::V4(address) => Self(address.to_string()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(format!("{a:x}:{b:x}:{c:x}:{d:x}::/64"))
            }
        }
    }
}

impl ClientAddress {
    /// The client of a request whose connection comes from `peer`, by the lines of its `X-Forwarded-For`.
    pub fn behind<'a>(
        peer: Option<SocketAddr>,
        proxies: &TrustedProxies,
        forwarded_for: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Self {
        match peer {
            Some(peer) => Self::of(proxies.client(peer.ip(), forwarded_for)),
            None => Self("unknown".into()),
        }
    }

    /// The same, of a request with these headers.
    #[must_use]
    pub fn of_request(
        peer: Option<SocketAddr>,
        proxies: &TrustedProxies,
        headers: &HeaderMap,
    ) -> Self {
        let lines = headers.get_all(FORWARDED_FOR).iter();
        Self::behind(peer, proxies, lines.map(HeaderValue::as_bytes))
    }
}

impl From<ClientAddress> for String {
    fn from(ClientAddress(address): ClientAddress) -> Self {
        address
    }
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get().map(|Peer(peer)| *peer);
        let proxies = parts.extensions.get().cloned().unwrap_or_default();
        Ok(Self::of_request(peer, &proxies, &parts.headers))
    }
}

/// Cancelled once the client has closed its connection; put into requests that may wait in a queue.
#[derive(Clone)]
pub struct ClientLeft(pub CancellationToken);

/// The client of a request that may wait in a queue.
pub struct Asking(pub Client);

impl<S: Sync> FromRequestParts<S> for Asking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let ClientAddress(address) = ClientAddress::from_request_parts(parts, state).await?;
        let left = parts.extensions.get::<ClientLeft>().cloned();
        Ok(Self(match left {
            Some(ClientLeft(left)) => Client::until(address, left),
            None => Client::new(address),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forwarded_lines(headers: &HeaderMap) -> impl DoubleEndedIterator<Item = &[u8]> {
        let lines = headers.get_all(FORWARDED_FOR).iter();
        lines.map(HeaderValue::as_bytes)
    }

    fn client(trusted: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let proxies = TrustedProxies(trusted.iter().map(|net| net.parse().unwrap()).collect());
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let client = proxies.client(peer.parse().unwrap(), forwarded_lines(&headers));
        client.to_string()
    }

    #[test]
    fn addresses_that_an_untrusted_peer_forwards_are_ignored() {
        assert_eq!(
            client(&[], "198.51.100.1", &["203.0.113.9"]),
            "198.51.100.1"
        );
        assert_eq!(
            client(&["10.0.0.0/8"], "198.51.100.1", &["203.0.113.9"]),
            "198.51.100.1"
        );
    }

    #[test]
    fn behind_trusted_proxies_the_last_untrusted_address_is_the_client() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(
            client(&trusted, "10.0.0.1", &["203.0.113.9"]),
            "203.0.113.9"
        );
        assert_eq!(
            client(&trusted, "10.0.0.1", &["1.2.3.4, 203.0.113.9, 10.0.0.2"]),
            "203.0.113.9"
        );
        assert_eq!(
            client(&trusted, "10.0.0.1", &["1.2.3.4", "203.0.113.9"]),
            "203.0.113.9"
        );
        for (written, meant) in [
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(client(&trusted, "10.0.0.1", &[written]), meant);
        }
        assert_eq!(client(&trusted, "10.0.0.1", &["nonsense"]), "10.0.0.1");
        assert_eq!(client(&trusted, "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(
            client(&trusted, "10.0.0.1", &["1.2.3.4", "\u{e9}, 203.0.113.9"]),
            "203.0.113.9",
            "a malformed address hides no other"
        );
    }

    #[test]
    fn a_client_has_one_address_however_it_is_written() {
        for (raw, client) in [
            ("198.51.100.1", "198.51.100.1"),
            ("::ffff:198.51.100.1", "198.51.100.1"),
            ("64:ff9b::198.51.100.1", "198.51.100.1"),
            ("2002:c633:6401::1", "198.51.100.1"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(ClientAddress::of(raw.parse().unwrap()).as_str(), client);
        }
    }

    /// Lists of addresses, and malformed addresses.
    fn forwarded() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let line = prop_oneof![
            "(10\\.0\\.0\\.[0-9]|203\\.0\\.113\\.[0-9]|::1|x)( ?, ?(10\\.0\\.0\\.[0-9]|2001:db8::[0-9]|)){0,4}".prop_map(String::into_bytes),
            proptest::collection::vec(any::<u8>(), 0..40),
        ];
        proptest::collection::vec(line, 0..4)
    }

    proptest! {
        #[test]
        fn an_untrusted_client_has_the_address_of_its_connection_whatever_it_forwards(lines in forwarded()) {
            let mut headers = HeaderMap::new();
            for line in &lines {
                if let Ok(value) = HeaderValue::from_bytes(line) {
                    headers.append("x-forwarded-for", value);
                }
            }
            let proxies = TrustedProxies(Arc::from(["10.0.0.0/8".parse().unwrap()]));
            let untrusted: IpAddr = "198.51.100.1".parse().unwrap();
            prop_assert_eq!(proxies.client(untrusted, forwarded_lines(&headers)), untrusted);
            // Behind a proxy it is the proxy itself or an address of a line.
            let proxy: IpAddr = "10.0.0.1".parse().unwrap();
            let client = proxies.client(proxy, forwarded_lines(&headers));
            let is_forwarded = headers.iter().any(|(_, line)| {
                line.to_str().is_ok_and(|line| line.split(',').any(|hop| address_of(hop.trim()) == Some(client)))
            });
            prop_assert!(client == proxy || is_forwarded, "{client}");
        }
    }
}
