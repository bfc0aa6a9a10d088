//! Headers of responses: the addresses in `Link`.

use ureq::Body;
use ureq::http::Response;
use url::Url;

use crate::cli::client::output;

/// The value of a header, harmless to a terminal.
pub(super) fn header(response: &Response<Body>, name: &str) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(output::harmless(value).into_owned())
}

/// The cursor in `<…?limit=…&cursor=…>; rel="next"`. Only the cursor is used: the address is the service's public one,
/// and the token goes only to the given address.
pub(super) fn next_cursor(link: &str) -> Option<String> {
    let url = Url::parse(target(link, "next")?).ok()?;
    let cursor = url.query_pairs().find(|(name, _)| name == "cursor")?;
    Some(cursor.1.into_owned())
}

/// The short URL in `<…>; rel="shortlink"`.
pub(super) fn shortlink(link: &str) -> Option<String> {
    target(link, "shortlink").map(Into::into)
}

/// The address of a relation.
fn target<'a>(link: &'a str, relation: &str) -> Option<&'a str> {
    let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
    let is_wanted = parameters.contains(&format!("rel=\"{relation}\""));
    is_wanted.then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_in_the_link_header() {
        let link = "<https://sho.rt/urls/my?limit=2&cursor=00ff>; rel=\"next\"";
        assert_eq!(next_cursor(link).as_deref(), Some("00ff"));
        for other in [
            "",
            "<x>",
            "<https://sho.rt/?cursor=1>; rel=\"prev\"",
            "<https://sho.rt/>; rel=\"next\"",
        ] {
            assert_eq!(next_cursor(other), None, "{other}");
        }
    }

    #[test]
    fn the_short_url_is_in_the_link_header() {
        let link = "<https://sho.rt/K7mXq2R>; rel=\"shortlink\"";
        assert_eq!(shortlink(link).as_deref(), Some("https://sho.rt/K7mXq2R"));
        assert_eq!(
            shortlink("<https://sho.rt/K7mXq2R>; rel=\"canonical\""),
            None
        );
    }
}
