//! The names of countries in each language, and their flags. `languages/refresh` writes the files.

use std::sync::LazyLock;

use super::language::Language;

/// The names in each language, in the order of [`Language::all`].
const FILES: [&str; 7] = [
    include_str!("languages/en/countries.txt"),
    include_str!("languages/de/countries.txt"),
    include_str!("languages/fr/countries.txt"),
    include_str!("languages/es/countries.txt"),
    include_str!("languages/pt/countries.txt"),
    include_str!("languages/zh/countries.txt"),
    include_str!("languages/ja/countries.txt"),
];

/// Codes and names, sorted by the codes.
type Names = Vec<(&'static str, &'static str)>;

static NAMES: LazyLock<[Names; 7]> = LazyLock::new(|| {
    let of_file = |file: &'static str| file.lines().filter_map(|line| line.split_once(" = "));
    FILES.map(|file| of_file(file).collect())
});

/// The name of the country with this code; the code itself if it has no name.
pub(super) fn name(language: Language, code: &str) -> &str {
    let tag = language.tag();
    let place = Language::all().position(|(known, _)| known == tag);
    let names = place.and_then(|place| NAMES.get(place));
    let find = |names: &Names| {
        let at = names.binary_search_by_key(&code, |(code, _)| code).ok()?;
        names.get(at).map(|(_, name)| *name)
    };
    names.and_then(find).unwrap_or(code)
}

/// The flag of a country, as two regional indicators.
pub(super) fn flag(code: &str) -> String {
    let indicator = |letter: u8| {
        let offset = u32::from(letter.checked_sub(b'A')?);
        char::from_u32(u32::from('\u{1f1e6}') + offset).filter(|_| offset < 26)
    };
    let flag: Option<String> = code.bytes().map(indicator).collect();
    flag.filter(|_| code.len() == 2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_names_the_same_countries_in_the_order_of_their_codes() {
        let codes: Vec<_> = NAMES[0].iter().map(|(code, _)| code).collect();
        assert!(codes.is_sorted() && codes.len() > 240);
        for names in NAMES.iter() {
            assert_eq!(
                names.iter().map(|(code, _)| code).collect::<Vec<_>>(),
                codes
            );
            assert!(names.iter().all(|(_, name)| !name.is_empty()));
        }
    }

    #[test]
    fn a_country_has_the_name_of_the_language_and_a_flag() {
        for (tag, name_of_gb) in [
            ("en", "United Kingdom"),
            ("de", "Vereinigtes Königreich"),
            ("ja", "イギリス"),
        ] {
            assert_eq!(name(Language::tagged(tag).unwrap(), "GB"), name_of_gb);
        }
        assert_eq!(name(Language::ENGLISH, "ZZ"), "ZZ");
        assert_eq!(flag("DE"), "\u{1f1e9}\u{1f1ea}");
        for none in ["", "D", "d1", "DEU", "é"] {
            assert_eq!(flag(none), "");
        }
    }
}
