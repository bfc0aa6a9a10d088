//! The visitor's language, and the texts of the public pages in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::http::ranked;

/// A language that the public pages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Language(usize);

/// The tag of each language, and its texts: one `name = text` per line. English comes first: visitors whose languages are
/// unknown get it.
const FILES: [(&str, &str); 7] = [
    ("en", include_str!("languages/en.txt")),
    ("de", include_str!("languages/de.txt")),
    ("fr", include_str!("languages/fr.txt")),
    ("es", include_str!("languages/es.txt")),
    ("pt", include_str!("languages/pt.txt")),
    ("zh", include_str!("languages/zh.txt")),
    ("ja", include_str!("languages/ja.txt")),
];

type Texts = BTreeMap<&'static str, &'static str>;

static TEXTS: LazyLock<[Texts; 7]> = LazyLock::new(|| {
    FILES.map(|(_, file)| {
        let lines = file.lines().filter_map(|line| line.split_once(" = "));
        lines.collect()
    })
});

impl Language {
    /// The language of pages for owners.
    pub(super) const ENGLISH: Self = Self(0);

    /// The language that a visitor likes best, by the `Accept-Language` header.
    pub(super) fn of(accepted: &str) -> Self {
        let known = |tag: &str| {
            let primary = tag.split('-').next().unwrap_or_default();
            let mut tags = FILES.iter();
            tags.position(|(known, _)| known.eq_ignore_ascii_case(primary))
        };
        let mut best = (Self::ENGLISH, 0);
        for (tag, weight) in ranked(accepted) {
            if let Some(found) = known(tag).filter(|_| weight > best.1) {
                best = (Self(found), weight);
            }
        }
        best.0
    }

    /// Its tag, for `lang`.
    pub(super) fn tag(self) -> &'static str {
        FILES[self.0].0
    }

    /// What stands between thousands in its numbers.
    pub(super) fn thousands(self) -> char {
        match self.tag() {
            "de" | "es" | "pt" => '.',
            "fr" => '\u{202f}',
            _ => ',',
        }
    }

    /// A text. A name that no file has is a defect, which a test of the templates finds.
    pub(super) fn text(self, name: &str) -> &'static str {
        TEXTS[self.0].get(name).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_language_has_every_text() {
        let english: Vec<_> = TEXTS[0].keys().collect();
        for ((tag, file), texts) in FILES.iter().zip(TEXTS.iter()) {
            assert_eq!(texts.keys().collect::<Vec<_>>(), english, "{tag}");
            assert!(texts.values().all(|text| !text.trim().is_empty()), "{tag}");
            assert_eq!(
                file.lines().count(),
                texts.len(),
                "{tag}: a line is no text"
            );
        }
    }

    #[test]
    fn every_text_that_a_template_names_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web");
        let mut named = 0;
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "html") {
                continue;
            }
            let template = fs::read_to_string(&path).unwrap();
            for call in template.split("language.text(\"").skip(1) {
                let name = call.split('"').next().unwrap();
                assert!(TEXTS[0].contains_key(name), "{}: {name}", path.display());
                named += 1;
            }
        }
        assert!(named > 0);
    }

    #[test]
    fn a_visitor_gets_the_language_that_is_liked_best() {
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
}
