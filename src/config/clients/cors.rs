//! Which pages of other origins may use the API.

use clap::Args;
use url::Url;

use super::super::setting::setting;

/// Comes from one setting; clap would take a `Vec` for a flag that is repeated.
type Origins = Vec<Origin>;

/// Which pages of other origins may use the API.
#[derive(Args, Clone, Debug)]
pub struct CorsSettings {
    /// Origins whose pages may use `/urls/*`, `/api/v2/*` and `/rest/*` in a browser, separated by commas, such as
    /// `https://tools.example.org`. Unset: no other origin.
    ///
    /// Pages need an API key or a token of their own: no cookie is a log-in there.
    #[arg(long, env = "CORS_ORIGINS", value_name = "ORIGINS")]
    #[arg(default_value = "", hide_default_value = true, value_parser = setting(origins))]
    pub cors_origins: Origins,
}

/// Scheme, host and perhaps a port, as a browser names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(raw: &str) -> Result<Self, String> {
        if raw == "*" {
            return Err("must name each origin; `*` is not accepted".into());
        }
        let no_origin = || {
            format!("`{raw}` is not an origin; give an origin such as https://tools.example.org")
        };
        let url = Url::parse(raw).map_err(|_| no_origin())?;
        let is_web = matches!(url.scheme(), "http" | "https");
        let address = raw.split_once("://").map(|(_, address)| address);
        let is_plain = address.is_some_and(|address| !address.starts_with('/'))
            && !raw.contains(['\\', '@', '?', '#']);
        if !is_web || !is_plain {
            return Err(no_origin());
        }
        if url.path() != "/" {
            return Err(format!(
                "`{raw}` has a path; an origin is only scheme, host and perhaps a port"
            ));
        }
        Ok(Self(url.origin().ascii_serialization()))
    }
}

fn origins(raw: &str) -> Result<Origins, String> {
    raw.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(Origin::parse)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_origin_is_read_as_a_browser_names_it() {
        for (raw, expected) in [
            ("https://tools.example.org", "https://tools.example.org"),
            ("https://tools.example.org/", "https://tools.example.org"),
            ("HTTPS://Tools.Example.ORG:443", "https://tools.example.org"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(Origin::parse(raw), Ok(Origin(expected.into())), "{raw}");
        }
        let two = origins("https://a.example, http://b.example:81,").unwrap();
        let two: Vec<_> = two.iter().map(Origin::as_str).collect();
        assert_eq!(two, ["https://a.example", "http://b.example:81"]);
        assert_eq!(origins(""), Ok(Vec::new()));
    }

    #[test]
    fn a_text_that_is_no_origin_is_refused_with_its_remedy() {
        for raw in [
            "tools.example.org",
            "null",
            "ftp://a.example",
            "https://",
            "https:///a.example",
            "https://me@a.example",
            "https://a.example?b",
            "https://a.example#b",
            "https:\\\\a.example",
            "data:text/html,x",
            "https://a b",
        ] {
            let expected = format!(
                "`{raw}` is not an origin; give an origin such as https://tools.example.org"
            );
            assert_eq!(Origin::parse(raw), Err(expected));
        }
        let with_path = Origin::parse("https://a.example/app").unwrap_err();
        assert!(with_path.contains("has a path"), "{with_path}");
        assert!(origins("*").unwrap_err().contains("name each origin"));
    }

    proptest! {
        #[test]
        fn an_origin_that_is_accepted_is_accepted_again_unchanged(raw in prop_oneof!["\\PC*", "https?://[a-z.:0-9/@?]{0,20}"]) {
            if let Ok(origin) = Origin::parse(&raw) {
                prop_assert!(origin.as_str().is_ascii());
                prop_assert_eq!(Origin::parse(origin.as_str()), Ok(origin));
            }
        }
    }
}
