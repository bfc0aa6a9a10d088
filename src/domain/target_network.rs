//! The network of a target's host: the internet, a private network, or a metadata service. Files beside this file have the
//! registries.

use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;
use url::Host;

use super::embedded_address::{canonical_address, embedded_addresses};

/// The network of a host, as far as its address or name tells. A name is not looked up: it may lead elsewhere tomorrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Network {
    /// Anywhere.
    Public,
    /// In a home or a company, or nowhere on the internet: what such a host is depends on the visitor.
    Private,
    /// On the link of the machine that asks, or one of the metadata services of clouds: programs that fetch previews must not be
    /// led there.
    LinkLocal,
}

impl Network {
    pub(super) fn of(host: &Host<&str>) -> Self {
        match host {
            Host::Domain(name) => of_name(name),
            Host::Ipv4(address) => of_address((*address).into()),
            // The nearest of all to which it may lead.
            Host::Ipv6(address) => embedded_addresses(*address)
                .into_iter()
                .map(|inner| of_address(inner.into()))
                .fold(of_address((*address).into()), Self::max),
        }
    }
}

/// The lines of a file beside this one, each as its first two words.
fn rows(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = file.lines().filter(|line| !line.starts_with(['#', '[']));
    lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next().unwrap_or_default()))
    })
}

/// A block, and whether it is reached from all of the internet; the longest first.
static BLOCKS: LazyLock<Vec<(IpNet, bool)>> = LazyLock::new(|| {
    let file = include_str!("target_network/special_purpose_addresses.txt");
    let rows = rows(file).filter_map(|(block, reached)| Some((block.parse().ok()?, reached)));
    let mut blocks: Vec<(IpNet, bool)> = rows
        .map(|(block, reached)| (block, reached == "True"))
        .collect();
    blocks.sort_by_key(|(block, _)| std::cmp::Reverse(block.prefix_len()));
    blocks
});

/// Metadata services, by their addresses and by their names.
static SERVICES: LazyLock<(Vec<IpNet>, Vec<&str>)> = LazyLock::new(|| {
    let (mut networks, mut names) = (Vec::new(), Vec::new());
    for (service, _) in rows(include_str!("target_network/metadata_services.txt")) {
        let address = service.parse::<IpAddr>().map(IpNet::from);
        match address.or_else(|_| service.parse()) {
            Ok(network) => networks.push(network),
            Err(_) => names.push(service),
        }
    }
    (networks, names)
});

/// Names below which hosts are private.
static PRIVATE_NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    rows(include_str!("target_network/private_names.txt"))
        .map(|(name, _)| name)
        .collect()
});

fn of_name(name: &str) -> Network {
    // The parser gives names in lower case.
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_pattern_of = |pattern: &&str| match pattern.split_once('*') {
        None => **pattern == *name,
        Some((start, end)) => name
            .strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|rest| !rest.is_empty()),
    };
    if SERVICES.1.iter().any(is_pattern_of) {
        return Network::LinkLocal;
    }
    let is_below = |suffix: &&str| {
        let rest = name.strip_suffix(*suffix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !name.contains('.') || PRIVATE_NAMES.iter().any(is_below) {
        Network::Private
    } else {
        Network::Public
    }
}

fn of_address(address: IpAddr) -> Network {
    let address = canonical_address(address);
    if SERVICES.0.iter().any(|network| network.contains(&address)) {
        return Network::LinkLocal;
    }
    let mut blocks = BLOCKS.iter();
    match blocks.find(|(block, _)| block.contains(&address)) {
        Some((_, false)) => Network::Private,
        Some((_, true)) | None => Network::Public,
    }
}

#[cfg(test)]
mod tests;
