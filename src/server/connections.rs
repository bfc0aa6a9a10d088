//! How many connections are open: in all, and of each address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Guards;
use crate::http::{ClientAddress, TrustedProxies};

/// Counts open connections; cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    permits: Arc<Semaphore>,
    /// 0: no limit.
    max_per_address: usize,
    /// They bring many clients each, and are not limited.
    proxies: TrustedProxies,
    by_address: Arc<Mutex<HashMap<ClientAddress, usize>>>,
}

/// An open connection, until it is dropped.
pub(super) struct OpenConnection {
    _permit: OwnedSemaphorePermit,
    _of_address: Option<OfAddress>,
}

struct OfAddress {
    connections: Connections,
    address: ClientAddress,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OneTooMany {
    InAll,
    OfAddress,
}

impl OneTooMany {
    /// The limit's name in metrics.
    pub(super) fn limit(self) -> &'static str {
        match self {
            Self::InAll => "connections",
            Self::OfAddress => "connections_of_address",
        }
    }
}

impl Connections {
    pub(super) fn new(guards: &Guards, proxies: TrustedProxies) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(guards.max_connections)),
            // Even if the system allows few connections, an address has at most a quarter of them.
            max_per_address: guards
                .max_connections_per_address
                .min((guards.max_connections / 4).max(1)),
            proxies,
            by_address: Arc::default(),
        }
    }

    /// Counts one more connection of `peer`.
    pub(super) fn open(&self, peer: IpAddr) -> Result<OpenConnection, OneTooMany> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit = permit.map_err(|_| OneTooMany::InAll)?;
        let is_limited = self.max_per_address > 0 && !self.proxies.trust(peer);
        let of_address = is_limited.then(|| self.of_address(peer)).transpose()?;
        Ok(OpenConnection {
            _permit: permit,
            _of_address: of_address,
        })
    }

    fn of_address(&self, peer: IpAddr) -> Result<OfAddress, OneTooMany> {
        let address = ClientAddress::of(peer);
        let mut by_address = self.by_address();
        let open = by_address.entry(address.clone()).or_default();
        if *open == self.max_per_address {
            return Err(OneTooMany::OfAddress);
        }
        *open += 1;
        drop(by_address);
        Ok(OfAddress {
            connections: self.clone(),
            address,
        })
    }

    fn by_address(&self) -> MutexGuard<'_, HashMap<ClientAddress, usize>> {
        self.by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        let mut by_address = self.connections.by_address();
        if let Entry::Occupied(mut open) = by_address.entry(self.address.clone()) {
            *open.get_mut() -= 1;
            if *open.get() == 0 {
                open.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(max: usize, max_per_address: usize) -> Connections {
        Connections {
            permits: Arc::new(Semaphore::new(max)),
            max_per_address,
            proxies: TrustedProxies(Arc::from(["10.0.0.0/8".parse().unwrap()])),
            by_address: Arc::default(),
        }
    }

    #[test]
    fn an_address_has_its_part_of_the_connections_and_a_proxy_has_them_all() {
        let connections = connections(8, 2);
        let open = |address: &str| connections.open(address.parse().unwrap());
        let mut kept: Vec<_> = ["198.51.100.1", "::ffff:198.51.100.1"]
            .map(|address| open(address).unwrap_or_else(|_| panic!("refused")))
            .into();
        assert_eq!(open("198.51.100.1").err(), Some(OneTooMany::OfAddress));
        assert!(open("198.51.100.2").is_ok(), "it is closed again at once");
        kept.pop();
        assert!(open("198.51.100.1").is_ok());
        let network: Vec<_> = [1, 2].map(|host| open(&format!("2001:db8::{host}"))).into();
        assert_eq!(open("2001:db8::3").err(), Some(OneTooMany::OfAddress));
        assert!(open("2001:db8:0:1::3").is_ok());
        drop(network);
        let proxied: Vec<_> = (0..7).map(|_| open("10.0.0.1")).collect();
        assert!(proxied.iter().all(Result::is_ok));
        assert_eq!(open("10.0.0.1").err(), Some(OneTooMany::InAll));
        drop((kept, proxied));
        assert!(
            connections.by_address().is_empty(),
            "closed connections take no memory"
        );
    }
}
