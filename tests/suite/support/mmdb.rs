//! A file of countries in the MMDB format. Unit tests include it, too.

/// A file that knows one network of IPv4.
pub(crate) fn file(network: [u8; 3], country: &str) -> Vec<u8> {
    file_of(4, &network, country)
}

/// A file that knows one network of a version of IP, as the format's specification (2.0) has it.
pub(crate) fn file_of(ip_version: u16, network: &[u8], country: &str) -> Vec<u8> {
    const RECORD_SEPARATOR: usize = 16;
    let text = |text: &str| {
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 29);
        [&[0x40 | length], text.as_bytes()].concat()
    };
    let map = |pairs: u8| vec![0xe0 | pairs];
    let number = |number: u32| [&[0xc4][..], &number.to_be_bytes()].concat();
    let short = |number: u16| [&[0xa2][..], &number.to_be_bytes()].concat();
    let long = |number: u64| [&[0x08, 0x02][..], &number.to_be_bytes()].concat();
    let nodes = 8 * u32::try_from(network.len()).unwrap();
    let mut tree = Vec::new();
    for bit in 0..nodes {
        let byte = network[usize::try_from(bit / 8).unwrap()];
        let is_one = byte >> (7 - bit % 8) & 1 == 1;
        let known = if bit + 1 < nodes {
            bit + 1
        } else {
            nodes + u32::try_from(RECORD_SEPARATOR).unwrap()
        };
        let records = if is_one {
            [nodes, known]
        } else {
            [known, nodes]
        };
        for record in records {
            tree.extend(&record.to_be_bytes()[1..]);
        }
    }
    tree.extend([0; RECORD_SEPARATOR]);
    let data = [
        map(1),
        text("country"),
        map(1),
        text("iso_code"),
        text(country),
    ]
    .concat();
    let metadata = [
        b"\xab\xcd\xefMaxMind.com".to_vec(),
        map(9),
        [text("binary_format_major_version"), short(2)].concat(),
        [text("binary_format_minor_version"), short(0)].concat(),
        [text("build_epoch"), long(1_700_000_000)].concat(),
        [text("database_type"), text("Test-Country")].concat(),
        [text("description"), map(0)].concat(),
        [text("ip_version"), short(ip_version)].concat(),
        [text("languages"), vec![0x00, 0x04]].concat(),
        [text("node_count"), number(nodes)].concat(),
        [text("record_size"), short(24)].concat(),
    ];
    [tree, data, metadata.concat()].concat()
}
