//! Where the host of a target is: on the internet, in a private network, or on the link of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// Where a host is, as far as its address or name says so. A name is not looked up: it may lead elsewhere tomorrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// Anywhere.
    Public,
    /// In a home or a company: what such a host is depends on the visitor.
    Private,
    /// On the link of the machine that asks, among them the metadata services of clouds: programs that fetch previews
    /// must not be led there.
    LinkLocal,
}

impl Network {
    pub(super) fn of(host: &Host<&str>) -> Self {
        match host {
            Host::Domain(name) => of_name(name),
            Host::Ipv4(address) => of_v4(*address),
            Host::Ipv6(address) => of_v6(*address),
        }
    }
}

fn of_name(name: &str) -> Network {
    // The parser gives names in lower case.
    let name = name.strip_suffix('.').unwrap_or(name);
    if name == "metadata.google.internal" {
        return Network::LinkLocal;
    }
    let private = [
        "localhost",
        "local",
        "internal",
        "lan",
        "home.arpa",
        "intranet",
    ];
    let is_below = |suffix: &str| {
        let rest = name.strip_suffix(suffix);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if !name.contains('.') || private.into_iter().any(is_below) {
        Network::Private
    } else {
        Network::Public
    }
}

fn of_v4(address: Ipv4Addr) -> Network {
    let [a, b, ..] = address.octets();
    // The metadata services of Alibaba Cloud and of Oracle Cloud are not at a link-local address.
    let metadata = [
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(192, 0, 0, 192),
    ];
    if address.is_link_local() || metadata.contains(&address) {
        Network::LinkLocal
    } else if address.is_private()
        || address.is_loopback()
        || a == 0
        // Behind a provider's address translation (RFC 6598).
        || a == 100 && (64..128).contains(&b)
    {
        Network::Private
    } else {
        Network::Public
    }
}

fn of_v6(address: Ipv6Addr) -> Network {
    /// The metadata service of AWS.
    const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    if let Some(inner) = embedded(address) {
        return of_v4(inner);
    }
    if address.is_unicast_link_local() || address == METADATA {
        Network::LinkLocal
    } else if address.is_unique_local() || address.is_loopback() || address.is_unspecified() {
        Network::Private
    } else {
        Network::Public
    }
}

/// The IPv4 address that an IPv6 address carries: mapped, compatible, translated (RFC 6052), or of 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let low = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    if let IpAddr::V4(mapped) = IpAddr::V6(address).to_canonical() {
        return Some(mapped);
    }
    match address.segments() {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0, g, h] | [0x64, 0xff9b, 0, 0, 0, 0, g, h] => Some(low(g, h)),
        [0x2002, b, c, ..] => Some(low(b, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn network(host: &str) -> Network {
        let url = Url::parse(&format!("http://{host}/")).unwrap();
        Network::of(&url.host().unwrap())
    }

    #[test]
    fn link_local_addresses_and_metadata_services_are_found_in_all_spellings() {
        for host in [
            "169.254.169.254",
            "169.254.0.1",
            "0xa9fea9fe",
            "0xA9.0xFE.0xA9.0xFE",
            "0251.0376.0251.0376",
            "2852039166",
            "169.254.43518",
            "169.16689662",
            "[fe80::1]",
            "[febf::1]",
            "[::ffff:169.254.169.254]",
            "[::ffff:a9fe:a9fe]",
            "[::169.254.169.254]",
            "[64:ff9b::169.254.169.254]",
            "[2002:a9fe:a9fe::1]",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "192.0.0.192",
            "metadata.google.internal",
            "METADATA.google.internal.",
            "169。254。169。254",
        ] {
            assert_eq!(network(host), Network::LinkLocal, "{host}");
        }
    }

    #[test]
    fn private_networks_are_found_in_all_spellings() {
        for host in [
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "0300.0250.1.1",
            "0xc0a80101",
            "127.0.0.1",
            "127.1",
            "0",
            "100.64.0.1",
            "[fd00::1]",
            "[fc00::1]",
            "[::1]",
            "[::]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::192.168.1.1]",
            "[2002:c0a8:101::]",
            "localhost",
            "a.localhost.",
            "printer.local",
            "nas.lan",
            "wiki",
            "x.home.arpa",
        ] {
            assert_eq!(network(host), Network::Private, "{host}");
        }
    }

    #[test]
    fn other_hosts_are_public() {
        for host in [
            "example.org",
            "local.example",
            "xlocalhost.example",
            "172.32.0.1",
            "172.15.255.255",
            "192.169.0.1",
            "11.0.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.0.1",
            "[2001:db8::1]",
            "[fec0::1]",
            "[64:ff9b::198.51.100.1]",
        ] {
            assert_eq!(network(host), Network::Public, "{host}");
        }
    }

    proptest! {
        #[test]
        fn an_ipv4_address_is_in_the_same_network_in_every_spelling(bits: u32) {
            let address = Ipv4Addr::from_bits(bits);
            let expected = network(&address.to_string());
            let [a, b, c, d] = address.octets();
            for spelling in [
                bits.to_string(),
                format!("{bits:#x}"),
                format!("0{a:o}.{b:#x}.{c}.0{d:o}"),
                format!("[::ffff:{address}]"),
                format!("[64:ff9b::{address}]"),
            ] {
                prop_assert_eq!(network(&spelling), expected, "{}", spelling);
            }
        }
    }
}
