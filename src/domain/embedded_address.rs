//! IPv4 addresses within IPv6 addresses: one spelling of an address, and every form in which one leads to another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Bits before the IPv4 address in the forms that end with it.
const LOW: u8 = 96;

/// The last four bytes of an address.
const LAST: [usize; 4] = [12, 13, 14, 15];

/// Bits before the IPv4 address of 6to4.
const SIX_TO_FOUR: u8 = 16;

/// The one spelling of an address: an IPv6 address that is only another way to write an IPv4 address is that one. So are
/// mapped (RFC 4291), compatible and translated addresses (RFC 2765), addresses of NAT64's own prefix (RFC 6052), and of 6to4.
#[must_use]
pub fn canonical_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(inner) => written(inner).map_or(address, |(inner, _)| inner.into()),
    }
}

/// The same of a network. `None`: it contains a whole form, and so more than a network of IPv4.
pub(super) fn canonical_network(network: IpNet) -> Option<IpNet> {
    let IpNet::V6(outer) = network else {
        return Some(network);
    };
    let bits = outer.prefix_len();
    match written(outer.addr()) {
        Some((inner, before)) if bits >= before => {
            let bits = (bits - before).min(32);
            Some(IpNet::new(inner.into(), bits).ok()?)
        }
        // A client of IPv6 has a /64, and the first 64 bits of these forms contain no IPv4 address.
        Some((_, LOW)) if bits > 64 => None,
        _ => Some(network),
    }
}

/// The IPv4 address of which an IPv6 address is another spelling, and the bits before it.
fn written(address: Ipv6Addr) -> Option<(Ipv4Addr, u8)> {
    match address.segments() {
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, 0, 0..=1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, g, h]
        | [0, 0, 0, 0, 0xffff, 0, g, h]
        | [0x64, 0xff9b, 0, 0, 0, 0, g, h] => Some((joined(g, h), LOW)),
        [0x2002, b, c, ..] => Some((joined(b, c), SIX_TO_FOUR)),
        _ => None,
    }
}

/// Every IPv4 address that an IPv6 address leads to: the one that it is another way to write; all that a NAT64 of a network's own
/// (RFC 8215) may read, by each length of a prefix (RFC 6052, 2.2); server and client of Teredo (RFC 4380); the host of ISATAP
/// (RFC 5214).
pub(super) fn embedded_addresses(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let octets = address.octets();
    let at = |places: [usize; 4]| Ipv4Addr::from(places.map(|place| octets[place]));
    let mut found: Vec<_> = written(address)
        .map(|(inner, _)| inner)
        .into_iter()
        .collect();
    match address.segments() {
        // The byte at 8 is left out by every length but 96.
        [0x64, 0xff9b, 1, ..] => {
            found.extend([[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST].map(at));
        }
        // The client's is written with all bits turned over.
        [0x2001, 0, ..] => {
            found.extend([at([4, 5, 6, 7]), Ipv4Addr::from_bits(!at(LAST).to_bits())]);
        }
        _ => {}
    }
    // The bit says that the IPv4 address is unique in the world.
    if matches!(octets[8..12], [0 | 2, 0, 0x5e, 0xfe]) {
        found.push(at(LAST));
    }
    found
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    fn halves(address: Ipv4Addr) -> (u16, u16) {
        let [a, b, c, d] = address.octets();
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }

    /// An IPv4 address in each form that is another spelling of it.
    pub(in crate::domain) fn written_as(address: Ipv4Addr) -> Vec<String> {
        let (high, low) = halves(address);
        vec![
            format!("::ffff:{address}"),
            format!("::ffff:{high:x}:{low:x}"),
            format!("0:0:0:0:0:FFFF:{high:X}:{low:04X}"),
            format!("::{address}"),
            format!("::ffff:0:{address}"),
            format!("64:ff9b::{address}"),
            format!("64:FF9B:0:0:0:0:{high:x}:{low:x}"),
            format!("2002:{high:x}:{low:x}::"),
            format!("2002:{high:x}:{low:x}:1:2:3:4:5"),
        ]
    }

    /// An IPv4 address in each further form that leads to it.
    pub(in crate::domain) fn carried_in(address: Ipv4Addr) -> Vec<String> {
        let [a, b, c, d] = address.octets();
        let (high, low) = halves(address);
        vec![
            format!("64:ff9b:1:{high:x}:{c:x}:{d:02x}00::"),
            format!("64:ff9b:1:12{a:02x}:{b:x}:{c:02x}{d:02x}::"),
            format!("64:ff9b:1:1234:{a:x}:{b:02x}{c:02x}:{d:02x}00::"),
            format!("64:ff9b:1::{address}"),
            format!("64:ff9b:1:abcd:0:1234:{high:x}:{low:x}"),
            format!("2001:0:{high:x}:{low:x}::1"),
            format!("2001:0:4136:e378:8000:63bf:{:x}:{:x}", !high, !low),
            format!("2600:1:2:3:0:5efe:{high:x}:{low:x}"),
            format!("2600:1:2:3:200:5efe:{address}"),
        ]
    }

    #[test]
    fn an_address_that_carries_none_is_its_own() {
        for raw in [
            "::",
            "::1",
            "2600::1",
            "fd00::5efe",
            "64:ff9b:2::1",
            "198.51.100.7",
        ] {
            let address: IpAddr = raw.parse().unwrap();
            assert_eq!(canonical_address(address), address, "{raw}");
            if let IpAddr::V6(address) = address {
                assert!(embedded_addresses(address).is_empty(), "{raw}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_form_of_an_address_leads_to_it(bits in 2_u32..) {
            let address = Ipv4Addr::from_bits(bits);
            for raw in written_as(address) {
                let outer: Ipv6Addr = raw.parse().unwrap();
                prop_assert_eq!(canonical_address(outer.into()), IpAddr::V4(address), "{}", raw);
                prop_assert!(embedded_addresses(outer).contains(&address), "{}", raw);
            }
            for raw in carried_in(address) {
                let outer: Ipv6Addr = raw.parse().unwrap();
                prop_assert!(embedded_addresses(outer).contains(&address), "{} in {}", address, raw);
            }
        }

        #[test]
        fn the_one_spelling_is_its_own(bits: u128) {
            let address = canonical_address(Ipv6Addr::from_bits(bits).into());
            prop_assert_eq!(canonical_address(address), address);
        }
    }
}
