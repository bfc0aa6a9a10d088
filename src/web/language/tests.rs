use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// The files of the pages with this extension, without tests.
fn sources(extension: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|known| known == extension)
                && !path.ends_with("tests.rs")
            {
                let text = fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
                found.push((path, text));
            }
        }
    }
    found
}

#[test]
fn every_language_has_every_text_once() {
    let english: Vec<_> = TEXTS[0].keys().collect();
    for ((tag, _, files), texts) in FOLDERS.iter().zip(TEXTS.iter()) {
        assert_eq!(texts.keys().collect::<Vec<_>>(), english, "{tag}");
        assert!(texts.values().all(|text| !text.trim().is_empty()), "{tag}");
        let lines = files.iter().flat_map(|file| file.lines());
        assert_eq!(
            lines.count(),
            texts.len(),
            "{tag}: a line is invalid, or a name is there twice"
        );
    }
}

#[test]
fn a_text_has_the_same_places_in_every_language() {
    let places = |text: &str| {
        let mut places: Vec<_> = text
            .split('{')
            .skip(1)
            .map(|rest| rest.split('}').next().unwrap().to_owned())
            .collect();
        places.sort();
        places.dedup();
        places
    };
    for ((tag, ..), texts) in FOLDERS.iter().zip(TEXTS.iter()) {
        for (name, text) in texts {
            assert_eq!(places(text), places(TEXTS[0][name]), "{tag}: {name}");
        }
    }
}

#[test]
fn every_text_that_a_page_names_is_there_and_no_other() {
    let pages: String = sources("html")
        .into_iter()
        .chain(sources("rs"))
        .map(|(_, text)| text)
        .collect();
    let has = |name: &str| TEXTS[0].contains_key(name);
    let mut calls = 0;
    for (call, ends) in [
        ("language.text(\"", &[""][..]),
        ("language.with(\"", &[""]),
        ("language.count(\"", &["_one", "_other"]),
    ] {
        for rest in pages.split(call).skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(
                ends.iter().all(|end| has(&format!("{name}{end}"))),
                "{name}"
            );
            calls += 1;
        }
    }
    assert!(calls > 0);
    // Those of faults go by what the API says.
    let names = TEXTS[0].keys().filter(|name| !name.starts_with("fault_"));
    for name in names {
        let name = name
            .strip_suffix("_one")
            .or(name.strip_suffix("_other"))
            .unwrap_or(name);
        let kind = name.strip_suffix("_title").or(name.strip_suffix("_text"));
        let names = [name, kind.unwrap_or(name)];
        let is_named = names
            .iter()
            .any(|name| pages.contains(&format!("\"{name}\"")));
        assert!(is_named, "no page has {name}");
    }
}

/// A template without its blocks for attributes, which people do not read.
fn without_attributes(template: &str) -> String {
    let mut kept = template.to_owned();
    for block in ["{% block width %}", "{% block at_"] {
        while let Some(start) = kept.find(block) {
            let end = kept[start..].find("{% endblock %}").unwrap();
            kept.replace_range(start..start + end + "{% endblock %}".len(), "");
        }
    }
    kept
}

/// What a template has beside tags of HTML and askama, and in attributes that people read.
fn words_of(template: &str) -> Vec<String> {
    let mut page = String::new();
    let template = without_attributes(template);
    let mut rest = template.as_str();
    while let Some(start) = rest
        .find("{{")
        .into_iter()
        .chain(rest.find("{%"))
        .chain(rest.find("{#"))
        .min()
    {
        page.push_str(&rest[..start]);
        page.push('\u{1}');
        let end = ["}}", "%}", "#}"]
            .into_iter()
            .filter_map(|end| rest[start..].find(end))
            .min();
        rest = &rest[start + end.unwrap() + 2..];
    }
    page.push_str(rest);
    let mut words = Vec::new();
    for name in ["aria-label", "placeholder", "title", "alt", "hx-confirm"] {
        for value in page.split(&format!(" {name}=\"")).skip(1) {
            words.push(value.split('"').next().unwrap().to_owned());
        }
    }
    for part in page.split('>') {
        words.push(part.split('<').next().unwrap().to_owned());
    }
    words.retain(|words| words.replace("&nbsp;", "").chars().any(char::is_alphabetic));
    words
}

/// Names that are the same in every language.
const NAMES: [&str; 9] = [
    "API", "QR", "URL", "UTC", "PNG", "SVG", "CSV", "JSON", "ShareX",
];

/// Examples in empty fields, which are the same in every language.
const EXAMPLES: [&str; 4] = ["https://", "es-MX, en;q=0.7", "DE", "utm_source=flyer"];

#[test]
fn no_template_has_a_text_of_its_own() {
    for (path, template) in sources("html") {
        let mut words = words_of(&template);
        words.retain(|words| {
            !NAMES.contains(&words.trim_matches(|char: char| !char.is_alphabetic()))
        });
        words.retain(|words| !EXAMPLES.contains(&words.as_str()));
        assert!(words.is_empty(), "{}: {words:?}", path.display());
    }
}

#[test]
fn no_source_of_a_page_has_a_sentence() {
    for (path, source) in sources("rs") {
        let mut sentences = Vec::new();
        for line in source.lines().map(str::trim) {
            let is_code = !line.starts_with("//")
                && ![
                    "expect(",
                    "tracing::",
                    " = HeaderValue::",
                    "\"Authorization\"",
                ]
                .iter()
                .any(|part| line.contains(part));
            if !is_code {
                continue;
            }
            for text in line.split('"').skip(1).step_by(2) {
                let mut chars = text.chars();
                let is_capital = chars.next().is_some_and(char::is_uppercase);
                let is_word = chars.next().is_some_and(char::is_lowercase);
                let is_sentence = is_capital && is_word && text != "Mac OS";
                if is_sentence && (text.contains(' ') || text.ends_with('.')) {
                    sentences.push(text);
                }
            }
        }
        assert!(sentences.is_empty(), "{}: {sentences:?}", path.display());
    }
}

#[test]
fn a_person_gets_the_language_that_is_liked_best() {
    for (accepted, tag) in [
        ("", "en"),
        ("de", "de"),
        ("de-CH,de;q=0.9,en;q=0.8", "de"),
        ("nl, fr;q=0.5, ja;q=0.6", "ja"),
        ("zh-Hant-TW", "zh"),
        ("PT-br", "pt"),
        ("es;q=0", "en"),
        ("*", "en"),
    ] {
        assert_eq!(Language::of(accepted).tag(), tag, "{accepted}");
    }
}

#[test]
fn values_stand_in_their_places_and_are_not_looked_at_again() {
    let values = [("a", "{b}"), ("b", "2")];
    assert_eq!(filled("{b} before {a}, {c}.", &values), "2 before {b}, .");
    assert_eq!(filled("an open {brace", &values), "an open brace");
}

#[test]
fn numbers_and_days_are_written_as_in_the_language() {
    let moment: Timestamp = "2026-11-28T23:05:00Z".parse().unwrap();
    let berlin = Zone::parse("Europe/Berlin").unwrap();
    for (tag, number, one, day) in [
        ("en", "12,891", "1 click", "29 Nov 2026"),
        ("de", "12.891", "1 Klick", "29. Nov. 2026"),
        ("fr", "12\u{202f}891", "1 clic", "29 nov. 2026"),
        ("ja", "12,891", "1 クリック", "2026年11月29日"),
    ] {
        let language = Language::tagged(tag).unwrap();
        assert_eq!(language.number(12_891), number);
        assert_eq!(language.count("clicks", 1), one);
        assert_eq!(language.date(moment, &berlin), day);
    }
    assert_eq!(
        Language::ENGLISH.moment(moment, &Zone::UTC),
        "28 Nov 2026, 23:05"
    );
    assert_eq!(Language::tagged("fr").unwrap().count("clicks", 0), "0 clic");
    assert_eq!(
        Language::ENGLISH.number(u64::MAX),
        "18,446,744,073,709,551,615"
    );
}
