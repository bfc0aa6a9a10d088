//! Who is at the other end of a connection.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// The address of the client's end of a connection, put into the request by the worker.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The client's address, for limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientAddress(String);

impl ClientAddress {
    /// As text; an IPv6 client is its /64, which is what one subscriber has.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.to_string()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Self(format!("{a:x}:{b:x}:{c:x}:{d:x}::/64"))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let peer = parts.extensions.get::<Peer>();
        Ok(peer.map_or_else(
            || Self("unknown".into()),
            |Peer(address)| Self::of(address.ip()),
        ))
    }
}
