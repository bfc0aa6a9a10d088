//! Properties of all formats: no input causes a panic, and a link that is written as its service writes it is read back.

use std::ops::ControlFlow;

use clap::ValueEnum as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::encoding::Encoding;
use super::file::read_file;
use super::link::ImportedLink;
use super::pages::OtherPages;
use super::reading::{ReadLink, TakesLinks};
use super::source::Source;
use super::spreadsheet::guarded;
use crate::domain::{FieldEdit, MaxClicks, OwnHost, StartingClicks, Timestamp};
use crate::wire::{DocumentKind, Value as FieldValue};

mod elsewhere;
mod left_behind;
mod tables;
mod written;

use written::{kept, object, row};

type Read = Vec<(u64, Result<ImportedLink, String>)>;

#[derive(Default)]
struct Taker(Vec<ReadLink>);

impl TakesLinks for Taker {
    fn take(&mut self, link: ReadLink) -> ControlFlow<()> {
        self.0.push(link);
        ControlFlow::Continue(())
    }
}

/// The links of a file, what is on other pages, and why the file cannot be read on, if it cannot.
fn read_whole(source: Source, file: &[u8]) -> (Vec<ReadLink>, Result<Option<OtherPages>, String>) {
    let mut taker = Taker::default();
    let encoding = Encoding::of(&mut &*file).unwrap();
    let read = read_file(file, encoding, source.format(), &mut taker);
    (taker.0, read.map_err(|broken| broken.to_string()))
}

/// The links of a file, and why it cannot be read on, if it cannot.
fn read(source: Source, file: &[u8]) -> (Read, Option<String>) {
    let (links, ended) = read_whole(source, file);
    let link = |read: ReadLink| (read.line, read.fault.map_or(Ok(read.link), Err));
    (links.into_iter().map(link).collect(), ended.err())
}

/// The links of a file in which nothing is wrong.
#[track_caller]
fn links(source: Source, file: &str) -> Vec<ImportedLink> {
    let (entries, fault) = read(source, file.as_bytes());
    assert_eq!(fault, None, "{file}");
    entries.into_iter().map(|(_, link)| link.unwrap()).collect()
}

fn csv(rows: &[Vec<String>]) -> String {
    csv_with(b',', rows)
}

fn csv_with(delimiter: u8, rows: &[Vec<String>]) -> String {
    let mut table = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .from_writer(Vec::new());
    for row in rows {
        table.write_record(row).unwrap();
    }
    String::from_utf8(table.into_inner().unwrap()).unwrap()
}

prop_compose! {
    fn link()(
        target in "https://example\\.org/[a-z=+,;\"'é \\n]{0,12}",
        code in "[A-Za-z0-9_-]{1,70}",
        start in proptest::option::of(1_i64..4_000_000_000),
        fallback in proptest::option::of("https://example\\.org/[a-z=,;\"']{0,12}"),
        end in proptest::option::of(1_i64..4_000_000_000),
        max_clicks in proptest::option::of(1_u64..1 << 53),
        title in proptest::option::of("[=+@'\"a-zé,;|-]{1,20}"),
        tags in proptest::collection::btree_set("[=+@'\"a-zé;-]{1,9}", 0..4),
        note in proptest::option::of("[=+@'\"a-zé,;|\n-]{1,20}"),
        flags in proptest::collection::vec(any::<bool>(), 9),
        clicks in 0_u64..1 << 53,
    ) -> ImportedLink {
        let mut link = ImportedLink::default();
        let fields = &mut link.fields;
        fields.target_url = FieldEdit::Set(target);
        fields.custom_code = FieldEdit::Set(code);
        fields.expires_at = FieldEdit::set_if(end.and_then(|end| Timestamp::from_micros(end * 1_000_000)));
        fields.starts_at = FieldEdit::set_if(start.and_then(|start| Timestamp::from_micros(start * 1_000_000)));
        fields.fallback_url = FieldEdit::set_if(fallback);
        fields.max_clicks = FieldEdit::set_if(max_clicks.map(|most| MaxClicks::parse(most).unwrap()));
        fields.title = FieldEdit::set_if(title);
        fields.note = FieldEdit::set_if(note);
        // A set has each tag once.
        fields.tags = FieldEdit::set_if((!tags.is_empty()).then(|| tags.into_iter().collect()));
        fields.clicks = FieldEdit::Set(StartingClicks::parse(clicks).unwrap());
        for (field, set) in DocumentKind::Table.fields().filter(|field| field.is_flag()).zip(flags) {
            if let FieldValue::Flag(flag) = (field.value)(fields) {
                *flag = FieldEdit::Set(set);
            }
        }
        link
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,9}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = proptest::sample::select(vec![
            "data",
            "links",
            "shortUrls",
            "target_url",
            "target",
            "longUrl",
            "long_url",
            "longlink",
            "address",
            "password",
            "tags",
            "meta",
            "custom_bitlinks",
            "expire_in",
            "expiry_time",
            "validUntil",
            "visitsSummary",
            "clicks",
            "hits",
            "title",
        ]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4).prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(source in proptest::sample::select(Source::value_variants()), file: Vec<u8>) {
        let (entries, fault) = read(source, &file);
        prop_assert!(fault.is_some() || !file.is_empty());
        prop_assert!(entries.iter().all(|(line, _)| *line >= 1));
    }

    #[test]
    fn any_json_is_read_or_refused(source in proptest::sample::select(Source::value_variants()), file in any_json()) {
        let text = file.to_string();
        read(source, text.as_bytes());
        // Cut off anywhere.
        let half = text.len() / 2;
        read(source, &text.as_bytes()[..half]);
    }

    #[test]
    fn any_table_is_read_or_refused(
        source in proptest::sample::select(Source::value_variants()),
        link in link(),
        rows in "[a-z0-9,;\"'\\n\\t=é\\x00-]{0,80}",
    ) {
        let names = row(source, &link).into_iter().map(|(name, _)| name.to_owned()).collect();
        let (_, fault) = read(source, format!("{}{rows}", csv(&[names])).as_bytes());
        // Nothing but a quote ends a table early.
        prop_assert!(fault.is_none_or(|fault| fault.contains(": the quote that opens here is ")));
    }

    #[test]
    fn a_link_in_a_table_is_read_back_with_every_separator_and_encoding(
        source in proptest::sample::select(Source::value_variants()),
        link in link(),
        delimiter in proptest::sample::select(vec![b',', b';', b'\t']),
        is_wide in any::<bool>(),
    ) {
        let row = row(source, &link);
        let names = row.iter().map(|(name, _)| (*name).to_owned()).collect();
        let guard = |cell: &String| if source.is_own() { guarded(cell).into_owned() } else { cell.clone() };
        let cells = row.iter().map(|(_, cell)| guard(cell)).collect();
        let mut expected = kept(source, false, &link);
        if source == Source::Bitly && link.code() == Some("3xYzAbC") {
            expected.notes.clear();
        }
        let table = csv_with(delimiter, &[names, cells]);
        let file: Vec<u8> = if is_wide {
            table.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else {
            table.into_bytes()
        };
        let (read, fault) = read(source, &file);
        prop_assert_eq!(fault, None);
        prop_assert_eq!(read, vec![(2, Ok(expected))]);
    }

    #[test]
    fn a_link_in_json_is_read_back(
        source in proptest::sample::select(Source::value_variants()),
        link in link(),
        wrapped in 0..4,
    ) {
        let object = object(source, &link);
        let file = match wrapped {
            0 => json!({ "limit": 9, "data": [object], "total": 1 }).to_string(),
            1 => json!({ "shortUrls": { "data": [object], "pagination": {} } }).to_string(),
            2 => json!([object]).to_string(),
            _ => format!("{object}\n"),
        };
        prop_assert_eq!(links(source, &file), vec![kept(source, true, &link)]);
    }
}

#[test]
fn an_entry_is_named_by_its_line() {
    let table =
        "target_url,clicks\nhttps://a.example,1\n\n\"https://b\n.example\",x\nhttps://c.example\n";
    let (entries, fault) = read(Source::Shunt, table.as_bytes());
    assert_eq!(fault, None);
    let lines = |entries: Read| {
        let lines = entries.into_iter();
        lines
            .map(|(line, link)| (line, link.is_ok()))
            .collect::<Vec<_>>()
    };
    let expected = [(2, true), (4, false), (6, true)];
    assert_eq!(lines(entries), expected);
    // The same with the line ends of Windows, and without the last one.
    let windows = table.replace('\n', "\r\n");
    let (entries, _) = read(Source::Shunt, windows.trim_end().as_bytes());
    assert_eq!(lines(entries), expected);
    let objects = "[\n{\"target_url\": \"https://a.example\"},\n\n  {\"clicks\": 1},\n7]";
    let (entries, _) = read(Source::Shunt, objects.as_bytes());
    assert_eq!(lines(entries), [(2, true), (4, false), (5, false)]);
}

#[test]
fn a_file_is_read_up_to_what_is_no_json() {
    let file = "{\"target_url\": \"https://a.example\"}\n{\"target_url\": \"https://b.example\"}\n{\"target_url\": nothing}\n";
    let (entries, fault) = read(Source::Shunt, file.as_bytes());
    assert_eq!(entries.len(), 2);
    let fault = fault.unwrap();
    assert!(
        fault.starts_with("line 3: is not valid JSON at column 17: a word is neither"),
        "{fault}"
    );
}

#[test]
fn a_column_that_is_missing_or_misspelt_is_named() {
    let fault = |source, file: &str| read(source, file.as_bytes()).1.unwrap();
    assert_eq!(
        fault(Source::Kutt, "address,url\n"),
        "line 1: the header line has no column `target` (is this an export of Kutt?)"
    );
    assert_eq!(
        fault(Source::Shlink, "longUrl\n"),
        "line 1: the header line has no column `shortCode` or `shortUrl` (is this an export of Shlink?)"
    );
    let misspelt = fault(Source::Csv, "target_url,expires\n");
    let expected = "line 1: expires: is not known here; did you mean expires_at?";
    assert_eq!(misspelt, expected);
}

#[test]
fn what_would_be_open_to_more_people_than_before_is_refused() {
    let file = json!([{ "target": "https://a.example", "address": "abcd", "password": true }]);
    for (source, file) in [
        (Source::Kutt, file.to_string()),
        (
            Source::Shunt,
            "target_url,short_code,has_password\nhttps://a.example,abcd,true\n".to_owned(),
        ),
    ] {
        let (links, _) = read_whole(source, file.as_bytes());
        let refused = links[0].refusal(&OwnHost::unknown());
        let why = "password: is protected by a password whose hash is missing, and here it would be open to everyone; export it with the hash, or leave the link out";
        let refused = refused.unwrap();
        assert_eq!(refused.strip_prefix("has_").unwrap_or(&refused), why);
    }
}

#[test]
fn hashes_of_passwords_are_taken_over_and_checked() {
    let bcrypt = "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW";
    let own_host = OwnHost::unknown();
    let kutt = |password: &str| {
        let file =
            json!([{ "target": "https://a.example", "address": "abcd", "password": password }]);
        read_whole(Source::Kutt, file.to_string().as_bytes())
            .0
            .remove(0)
    };
    let request = kutt(bcrypt).request(&own_host, |_| false).unwrap();
    assert_eq!(request.properties.password.unwrap().expose(), bcrypt);
    for other in [
        "$2b$31$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW",
        "$2b$12$hash",
        "$1$md5",
    ] {
        let refused = kutt(other).refusal(&own_host).unwrap();
        assert!(refused.starts_with("password: must be a hash"), "{refused}");
        assert!(!refused.contains(other), "{refused}");
    }
    let yourls = |password: &str| {
        let file = format!("keyword,url,password\nabcd,https://a.example,{password}\n");
        let link = read_whole(Source::Yourls, file.as_bytes()).0.remove(0);
        link.request(&own_host, |_| false).unwrap()
    };
    let plain = yourls("open sesame");
    assert!(plain.new_password.is_some() && plain.properties.password.is_none());
    assert_eq!(yourls(bcrypt).properties.password.unwrap().expose(), bcrypt);
    for none in ["", "NULL"] {
        let open = yourls(none);
        assert!(open.new_password.is_none() && open.properties.password.is_none());
    }
}

#[test]
fn a_start_is_taken_over() {
    let file = json!([{
        "longUrl": "https://a.example", "shortCode": "abcd", "meta": { "validSince": "2999-01-01T01:00:00+01:00" },
    }]);
    let link = links(Source::Shlink, &file.to_string()).remove(0);
    let start = link.fields.starts_at.given().unwrap();
    assert_eq!(start.to_string(), "2999-01-01T00:00:00Z");
}

#[test]
fn a_link_that_has_ended_was_created_before() {
    let file = "target_url,expires_at\nhttps://a.example,2020-01-01T00:00:00Z\n";
    let link = links(Source::Csv, file).remove(0);
    let at = |time: &str| link.clone().created_before_its_end(time.parse().unwrap());
    let created = |time: &str| at(time).fields.created_at.given();
    assert_eq!(created("2019-12-31T00:00:00Z"), None);
    let end = Some("2020-01-01T00:00:00Z");
    assert_eq!(created("2020-01-01T00:00:00Z").as_deref(), end);
}

#[test]
fn the_plugin_of_yourls_writes_paths() {
    let file = "source,target,hits\r\n/abc/,https://a.example,5\r\n";
    let links = links(Source::Yourls, file);
    assert_eq!(links[0].code(), Some("abc"));
    assert_eq!(links[0].clicks(), 5);
}
