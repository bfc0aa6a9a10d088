use std::net::Ipv4Addr;

use proptest::prelude::*;
use url::Url;

use super::*;
use crate::domain::embedded_address::tests::{carried_in, written_as};

fn network(host: &str) -> Network {
    let url = Url::parse(&format!("http://{host}/")).unwrap();
    Network::of(&url.host().unwrap())
}

fn network_of(address: IpAddr) -> Network {
    match address {
        IpAddr::V4(address) => network(&address.to_string()),
        IpAddr::V6(address) => network(&format!("[{address}]")),
    }
}

#[test]
fn link_local_addresses_and_metadata_services_are_found_in_all_spellings() {
    for host in [
        "169.254.169.254",
        "169.254.0.1",
        "169.254.170.2",
        "169.254.42.42",
        "0xa9fea9fe",
        "0xA9.0xFE.0xA9.0xFE",
        "0251.0376.0251.0376",
        "2852039166",
        "169.254.43518",
        "169.16689662",
        "[fe80::1]",
        "[febf::1]",
        "[fe80::5efe:10.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::169.254.169.254]",
        "[::ffff:0:169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::169.254.169.254]",
        "[64:ff9b:1:a9fe:a9:fe00::]",
        "[2002:a9fe:a9fe::1]",
        "[2001:0:a9fe:a9fe::]",
        "[2001:0:1:2::5601:5601]",
        "[2600::5efe:169.254.169.254]",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd20:ce::254]",
        "[fd00:42::42]",
        "[fd00:c1::a9fe:a9fe]",
        "[64:ff9b::168.63.129.16]",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "0xa83f8110",
        "metadata",
        "METADATA.",
        "m%65tadata",
        "metadata.goog",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "ｍetadata.google.internal",
        "metadata.eu.google.internal",
        "instance-data",
        "instance-data.ec2.internal",
        "instance-data.eu-west-1.compute.internal",
        "metadata.tencentyun.com",
        "kubernetes",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
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
        "198.18.0.1",
        "198.19.255.255",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "[fd00::1]",
        "[fc00::1]",
        "[fec0::1]",
        "[feff::1]",
        "[ff02::1]",
        "[ff0e::1]",
        "[::1]",
        "[::]",
        "[::2]",
        "[100::1]",
        "[4000::1]",
        "[2001:db8::1]",
        "[2001::1]",
        "[2001:0:808:808::1]",
        "[64:ff9b:1::8.8.8.8]",
        "[::ffff:10.0.0.1]",
        "[::ffff:0:10.0.0.1]",
        "[64:ff9b::192.168.1.1]",
        "[2002:c0a8:101::]",
        "[2600::5efe:10.0.0.1]",
        "localhost",
        "a.localhost.",
        "printer.local",
        "nas.lan",
        "wiki",
        "x.home.arpa",
        "host.docker.internal",
        "x.intranet",
        "x.private",
        "x.corp",
        "x.home",
        "x.localdomain",
        "x.test",
        "x.invalid",
        "x.alt",
        "fritz.box",
        "PRINTER.LOCAL.",
        "printer。local",
    ] {
        assert_eq!(network(host), Network::Private, "{host}");
    }
}

#[test]
fn other_hosts_are_public() {
    for host in [
        "example.org",
        "example.com",
        "bad.example",
        "local.example",
        "xlocalhost.example",
        "metadata.example.org",
        "instance-data.example.org",
        "notmetadata.goog",
        "corp.example.com",
        "x.homes",
        "something.onion",
        "172.32.0.1",
        "172.15.255.255",
        "192.169.0.1",
        "11.0.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "169.253.0.1",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "192.0.0.9",
        "[2600::1]",
        "[2001:4860:4860::8888]",
        "[2001:4:112::1]",
        "[64:ff9b::8.8.8.8]",
        "[2002:808:808::1]",
        "[::ffff:8.8.8.8]",
        "[::ffff:0:8.8.8.8]",
    ] {
        assert_eq!(network(host), Network::Public, "{host}");
    }
}

/// The first and the last address of a block.
fn ends(block: &IpNet) -> [IpAddr; 2] {
    let last = match block {
        IpNet::V4(block) => block.broadcast().into(),
        IpNet::V6(block) => block.broadcast().into(),
    };
    [block.network(), last]
}

#[test]
fn every_row_of_the_registries_holds_at_both_ends() {
    let file = include_str!("special_purpose_addresses.txt");
    let all: Vec<(IpNet, &str)> = rows(file)
        .map(|(block, reached)| (block.parse().unwrap(), reached))
        .collect();
    for (section, rows_of_it) in [("[ipv4]", 26), ("[ipv6]", 25), ("[others]", 5)] {
        let section = file.split(section).nth(1).unwrap();
        let section = section.split("\n[").next().unwrap();
        assert_eq!(rows(section).count(), rows_of_it);
    }
    assert_eq!(BLOCKS.len(), all.len());
    for (block, reached) in &all {
        assert!(["True", "False", "N/A"].contains(reached), "{block}");
        let is_longer = |other: &&(IpNet, &str)| other.0 != *block && block.contains(&other.0);
        let within: Vec<_> = all.iter().filter(is_longer).collect();
        for address in ends(block) {
            // Another row, or the address of IPv4 within, decides.
            let is_others = within.iter().any(|(other, _)| other.contains(&address));
            if is_others || canonical_address(address) != address {
                continue;
            }
            let found = network_of(address);
            assert_eq!(
                found == Network::Public,
                *reached == "True",
                "{address} of {block}"
            );
        }
    }
}

#[test]
fn every_row_of_the_metadata_services_is_refused() {
    for (service, _) in rows(include_str!("metadata_services.txt")) {
        let network = match service.parse::<IpNet>() {
            Ok(block) => network_of(ends(&block)[1]),
            Err(_) => match service.parse::<IpAddr>() {
                Ok(address) => network_of(address),
                Err(_) => network(&service.replace('*', "some.region")),
            },
        };
        assert_eq!(network, Network::LinkLocal, "{service}");
    }
}

#[test]
fn every_row_of_the_private_names_is_private_with_all_below_it() {
    for (name, _) in rows(include_str!("private_names.txt")) {
        for host in [
            name.to_owned(),
            format!("a.b.{name}"),
            format!("A.{name}.").to_uppercase(),
        ] {
            assert_eq!(network(&host), Network::Private, "{host}");
        }
        assert_eq!(
            network(&format!("x{name}.example")),
            Network::Public,
            "{name}"
        );
    }
}

/// Addresses anywhere, and addresses of the registries' blocks.
fn addresses() -> impl Strategy<Value = Ipv4Addr> {
    let v4 = BLOCKS.iter().filter_map(|(block, _)| match block {
        IpNet::V4(block) => Some(*block),
        IpNet::V6(_) => None,
    });
    let special = (
        proptest::sample::select(v4.collect::<Vec<_>>()),
        any::<u32>(),
    );
    let special = special.prop_map(|(block, bits)| {
        Ipv4Addr::from_bits(block.network().to_bits() | bits & block.hostmask().to_bits())
    });
    let metadata =
        proptest::sample::select(vec!["169.254.169.254", "168.63.129.16", "100.100.100.200"]);
    prop_oneof![
        any::<u32>().prop_map(Ipv4Addr::from_bits),
        special,
        metadata.prop_map(|address| address.parse().unwrap()),
    ]
    .prop_filter("`::` and `::1` are addresses of their own", |address| {
        address.to_bits() > 1
    })
}

proptest! {
    #[test]
    fn an_ipv4_address_is_in_the_same_network_in_every_spelling(address in addresses()) {
        let expected = network(&address.to_string());
        let ([a, b, c, d], bits) = (address.octets(), address.to_bits());
        let mut spellings = vec![
            bits.to_string(),
            format!("{bits:#x}"),
            format!("0{bits:o}"),
            format!("0{a:o}.{b:#x}.{c}.0{d:o}"),
            format!("{a}.{}", bits & 0xff_ffff),
            format!("{a}.{b}.{}.", bits & 0xffff),
            address.to_string().replace('.', "%2e"),
            address.to_string().replace('.', "\u{3002}"),
        ];
        spellings.extend(written_as(address).into_iter().map(|host| format!("[{host}]")));
        for spelling in spellings {
            prop_assert_eq!(network(&spelling), expected, "{}", spelling);
        }
        for carried in carried_in(address) {
            prop_assert!(network(&format!("[{carried}]")) >= expected, "{}", carried);
        }
    }
}
