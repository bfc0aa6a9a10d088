//! The form of a new link, filled by the query of its address: by a bookmark, another page, or an app that shares.

use serde::Deserialize;

use super::link_form::LinkForm;
use super::page::Site;

/// The form of a new link, which its query fills.
pub(super) const NEW_LINK: &str = "/app/links/new";

/// What a browser keeps as a bookmark: it opens the filled form for the page that is shown.
pub(super) fn bookmarklet(site: &Site) -> String {
    let form = format!("{}{NEW_LINK}", site.base_url());
    format!(
        "javascript:void(open('{form}?target_url='+encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title)))"
    )
}

/// Longest title that a link may have; pages have longer titles.
const MAX_TITLE: usize = 200;

/// What the query says; parameters that the form does not have are left aside, as an app may share more.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Prefilled {
    target_url: String,
    title: String,
    custom_code: String,
    tags: String,
    /// What an app shares as text: on Android the address is in it.
    text: String,
}

impl Prefilled {
    /// The form.
    pub(super) fn form(self) -> LinkForm {
        let target = match self.target_url.trim() {
            "" => address_in(&self.text).unwrap_or_default(),
            target => target,
        };
        LinkForm::with([
            ("target_url", target.to_owned()),
            ("title", self.title.trim().chars().take(MAX_TITLE).collect()),
            ("custom_code", self.custom_code.trim().to_owned()),
            ("tags", self.tags.trim().to_owned()),
        ])
    }
}

/// The first address in a text, without the end of its sentence.
fn address_in(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| {
        let at = ["https://", "http://"]
            .iter()
            .filter_map(|scheme| word.find(scheme));
        let address = word.get(at.min()?..)?;
        Some(address.trim_end_matches(['.', ',', ';', '!', '"', '\'', '>', '»', '”']))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_address_of_a_shared_text_is_found() {
        for (text, expected) in [
            ("https://example.org/a", Some("https://example.org/a")),
            (
                "A title: https://example.org/a?b=c.",
                Some("https://example.org/a?b=c"),
            ),
            (
                "A title\nhttp://example.org/ more",
                Some("http://example.org/"),
            ),
            ("<https://example.org/>", Some("https://example.org/")),
            (
                "“https://example.org/a_(b)”",
                Some("https://example.org/a_(b)"),
            ),
            ("no address, ftp://example.org", None),
            ("", None),
        ] {
            assert_eq!(address_in(text), expected, "{text}");
        }
    }

    #[test]
    fn a_target_wins_over_a_text_and_a_long_title_is_cut() {
        let given = Prefilled {
            target_url: " https://example.org/a ".into(),
            text: "https://example.org/b".into(),
            title: "ü".repeat(300),
            ..Prefilled::default()
        };
        let form = given.form();
        assert_eq!(form.text("target_url"), "https://example.org/a");
        assert_eq!(form.text("title"), "ü".repeat(200));
    }

    proptest! {
        #[test]
        fn an_address_that_is_found_is_in_the_text(text in prop_oneof!["\\PC*", "[a-z <.]{0,5}https?://[a-z.,) ]{0,10}"]) {
            if let Some(address) = address_in(&text) {
                prop_assert!(text.contains(address));
                prop_assert!(address.starts_with("http://") || address.starts_with("https://") || address.starts_with("http"));
            }
        }
    }
}
