//! Finds out which service wrote a file, and which fields the columns of a table are.

use super::encoding::Encoding;
use super::own;
use super::record::plain_name;
use super::source::Source;
use super::table::header_of;

/// Names by which the files of a service are known; the first service of which a file has all names wrote it.
const SIGNS: &[(Source, &[&str])] = &[
    (Source::Shunt, &["targeturl", "shortcode"]),
    (Source::Csv, &["targeturl"]),
    (Source::Shlink, &["longurl", "shortcode"]),
    (Source::Kutt, &["target", "address"]),
    (Source::Chhoto, &["longlink", "shortlink"]),
    (Source::Shortio, &["originalurl", "path"]),
    (Source::Shortio, &["originalurl", "shorturl"]),
    (Source::Rebrandly, &["slashtag"]),
    (Source::Polr, &["longurl", "shorturl", "secretkey"]),
    (Source::TinyUrl, &["tinyurl"]),
    (Source::TinyUrl, &["alias", "url"]),
    (Source::Firebase, &["longlink", "shortdynamiclink"]),
    (Source::Firebase, &["longdynamiclink"]),
    (Source::Firebase, &["deeplink", "shortlink"]),
    (Source::Bitly, &["longurl", "custombitlinks"]),
    (Source::Bitly, &["longurl", "bitlink"]),
    (Source::Bitly, &["longurl", "link"]),
    (Source::Bitly, &["destinationurl", "link"]),
    (Source::Dub, &["key", "url"]),
    (Source::Dub, &["destinationurl", "shortlink"]),
    (Source::Yourls, &["keyword", "url"]),
    (Source::Yourls, &["source", "target", "hits"]),
    (Source::Yourls, &["shorturl", "url"]),
    (Source::Sink, &["slug", "url"]),
];

/// Bytes of a JSON file in which its names are looked for.
const START: usize = 64 * 1024;

/// Names of columns in which people have the fields of a link, in their plain form.
const NAMES: &[(&str, &[&str])] = &[
    (
        "target_url",
        &[
            "url",
            "longurl",
            "target",
            "destination",
            "destinationurl",
            "originalurl",
            "longlink",
            "address",
            "website",
            "redirectto",
            "redirecturl",
        ],
    ),
    (
        "custom_code",
        &[
            "code", "slug", "alias", "keyword", "key", "path", "backhalf", "ending",
        ],
    ),
    ("domain", &["host", "hostname", "domainname"]),
    ("title", &["name", "label"]),
    ("tags", &["tag", "labels", "category", "categories"]),
    ("note", &["notes", "comment", "comments", "description"]),
    ("clicks", &["hits", "visits", "visitcount", "totalclicks"]),
    (
        "starts_at",
        &["starts", "start", "startdate", "validfrom", "validsince"],
    ),
    (
        "expires_at",
        &["expires", "expiry", "expiration", "enddate", "validuntil"],
    ),
    ("max_clicks", &["maxvisits", "clickslimit", "clicklimit"]),
    ("fallback_url", &["fallback", "expiredurl"]),
];

/// The columns of a table, as it names them; `None`: it is not a table, or has no header line.
#[must_use]
pub fn columns_in(file: &str) -> Option<Vec<String>> {
    if is_json(file) {
        return None;
    }
    header_of(file.as_bytes(), Encoding::Utf8)
}

/// The field that the column of a table is, by its name; names that the service itself writes are themselves.
#[must_use]
pub fn field_of(column: &str) -> Option<&'static str> {
    let name = plain_name(column);
    let mut own = own::known().into_iter();
    let known = own.find(|known| plain_name(known) == name);
    let mut lists = NAMES.iter();
    let guessed = lists.find(|(_, names)| names.contains(&name.as_str()));
    known.or(guessed.map(|(field, _)| *field))
}

fn is_json(file: &str) -> bool {
    file.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['[', '{'])
}

impl Source {
    /// The service that wrote a file, as far as its names show.
    #[must_use]
    pub fn found_in(file: &str) -> Option<Self> {
        let names = match columns_in(file) {
            Some(columns) => columns.iter().map(|name| plain_name(name)).collect(),
            None => members_in(file),
        };
        let has = |sign: &&str| names.iter().any(|name| name == sign);
        let found = SIGNS.iter().find(|(_, signs)| signs.iter().all(&has));
        found.map(|(source, _)| *source)
    }
}

/// The names of members at the start of a JSON file, at any depth.
fn members_in(file: &str) -> Vec<String> {
    let mut end = file.len().min(START);
    while !file.is_char_boundary(end) {
        end -= 1;
    }
    let mut names = Vec::new();
    let mut rest = &file[..end];
    while let Some((_, text)) = rest.split_once('"') {
        let mut is_escaped = false;
        let close = text.find(|char| {
            let closes = char == '"' && !is_escaped;
            is_escaped = char == '\\' && !is_escaped;
            closes
        });
        let Some(close) = close else {
            break;
        };
        rest = &text[close + 1..];
        if rest.trim_start().starts_with(':') {
            let name = plain_name(&text[..close]);
            if !names.contains(&name) && names.len() < 200 {
                names.push(name);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn each_sample_is_known_by_its_names() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/import/exports");
        for (name, source) in [
            ("bitly.csv", Source::Bitly),
            ("bitly.json", Source::Bitly),
            ("chhoto.json", Source::Chhoto),
            ("dub.json", Source::Dub),
            ("kutt.csv", Source::Kutt),
            ("kutt.json", Source::Kutt),
            ("own.csv", Source::Csv),
            ("polr.csv", Source::Polr),
            ("shlink-import.csv", Source::Shlink),
            ("shlink.csv", Source::Shlink),
            ("shlink.json", Source::Shlink),
            ("sink.json", Source::Sink),
            ("yourls-plugin.csv", Source::Yourls),
            ("yourls.csv", Source::Yourls),
        ] {
            let file = fs::read_to_string(samples.join(name)).unwrap();
            assert_eq!(Source::found_in(&file), Some(source), "{name}");
        }
        for file in [
            "",
            "a,b\n1,2",
            "[1, 2]",
            "{\"a\\\"url\": \"slug",
            "\"",
            "Long URL,Name\n",
        ] {
            assert_eq!(Source::found_in(file), None, "{file}");
        }
    }

    #[test]
    fn columns_are_fields_by_the_names_that_people_give_them() {
        for (column, field) in [
            ("Target URL", Some("target_url")),
            ("Destination", Some("target_url")),
            ("Back-half", Some("custom_code")),
            ("short_code", Some("short_code")),
            ("created_at", Some("created_at")),
            ("Comments", Some("note")),
            ("Colour", None),
            ("", None),
        ] {
            assert_eq!(field_of(column), field, "{column}");
        }
        let columns = columns_in("sep=;\nLong URL;Colour;\nx;y;\n");
        assert_eq!(columns, Some(vec!["Long URL".into(), "Colour".into()]));
        assert_eq!(columns_in("[]"), None);
    }
}
