//! The pages of each protocol.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::Failure;
use super::asking::{Asked, Asking};
use super::protocol::Protocol;

/// Links of a page. Kutt has no more on one.
const SIZE: u64 = 50;

/// A page of links.
#[derive(Default)]
pub(super) struct Page {
    /// A link a line.
    pub(super) lines: String,
    pub(super) links: u64,
    pub(super) is_last: bool,
    first: Option<String>,
}

impl Page {
    /// What tells it from another page.
    pub(super) fn first(&self) -> Option<String> {
        self.first.clone()
    }

    fn add(&mut self, link: &Value) {
        let text = link.to_string();
        self.lines.push_str(&text);
        self.lines.push('\n');
        self.links += 1;
        self.first.get_or_insert(text);
    }
}

/// The page after so many pages and links.
pub(super) fn page(
    protocol: Protocol,
    asking: &Asking<'_>,
    pages: u64,
    links: u64,
) -> Result<Page, Failure> {
    match protocol {
        Protocol::Shlink => shlink(asking, pages + 1),
        Protocol::Kutt => kutt(asking, links),
        Protocol::Yourls => yourls(asking, links),
    }
}

/// <https://api-spec.shlink.io/>, `GET /rest/v3/short-urls`, the oldest first: new links do not move the others.
fn shlink(asking: &Asking<'_>, number: u64) -> Result<Page, Failure> {
    let (number, size) = (number.to_string(), SIZE.to_string());
    let query = [
        ("page", &*number),
        ("itemsPerPage", &*size),
        ("orderBy", "dateCreated-ASC"),
    ];
    let answer = asking.ask(&Asked::Get("/rest/v3/short-urls", &query))?;
    let answer = answer.ok_or_else(|| asking.not_from_there())?;
    let list = &answer["shortUrls"];
    let found = list["data"]
        .as_array()
        .ok_or_else(|| asking.not_from_there())?;
    let mut page = Page::default();
    for link in found {
        if let Some(link) = with_rules(asking, link)? {
            page.add(&link);
        }
    }
    let at = |name: &str| list["pagination"][name].as_u64().unwrap_or_default();
    page.is_last = found.is_empty() || at("currentPage") >= at("pagesCount");
    Ok(page)
}

/// The link with its rules, which the list does not have. `None`: it was deleted meanwhile.
fn with_rules(asking: &Asking<'_>, link: &Value) -> Result<Option<Value>, Failure> {
    // Shlink before 4.1 does not say whether there are any, and before 4.0 there are none.
    let has_rules = link["hasRedirectRules"].as_bool();
    let code = link["shortCode"].as_str().unwrap_or_default();
    if has_rules == Some(false) || code.is_empty() {
        return Ok(Some(link.clone()));
    }
    let path = format!(
        "/rest/v3/short-urls/{}/redirect-rules",
        utf8_percent_encode(code, NON_ALPHANUMERIC)
    );
    let domain = link["domain"].as_str().map(|domain| [("domain", domain)]);
    let query = domain.as_ref().map_or(&[][..], |domain| &domain[..]);
    let mut link = link.clone();
    match asking.ask(&Asked::Get(&path, query))? {
        None if has_rules == Some(true) => return Ok(None),
        None => {}
        Some(rules) => {
            let rules = rules["redirectRules"]
                .as_array()
                .ok_or_else(|| asking.not_from_there())?;
            if !rules.is_empty() {
                link["redirectRules"] = Value::from(rules.clone());
            }
        }
    }
    Ok(Some(link))
}

/// <https://docs.kutt.it/>, `GET /api/v2/links`, the newest first: a link that is made meanwhile moves the others, and comes twice.
fn kutt(asking: &Asking<'_>, skip: u64) -> Result<Page, Failure> {
    let (skipped, size) = (skip.to_string(), SIZE.to_string());
    let query = [("skip", &*skipped), ("limit", &*size)];
    let answer = asking.ask(&Asked::Get("/api/v2/links", &query))?;
    let answer = answer.ok_or_else(|| asking.not_from_there())?;
    let found = answer["data"]
        .as_array()
        .ok_or_else(|| asking.not_from_there())?;
    let mut page = Page::default();
    for link in found {
        page.add(link);
    }
    let total = answer["total"].as_u64();
    page.is_last = found.is_empty() || total.is_some_and(|total| skip + page.links >= total);
    Ok(page)
}

/// `yourls_api_action_stats` in `includes/functions-api.php` of <https://github.com/YOURLS/YOURLS>, the newest first: `links` has `link_1`
/// and so on, or is missing after the last link.
fn yourls(asking: &Asking<'_>, start: u64) -> Result<Page, Failure> {
    let (started, size) = (start.to_string(), SIZE.to_string());
    let fields = [
        ("action", "stats"),
        ("filter", "last"),
        ("limit", &*size),
        ("start", &*started),
        ("format", "json"),
    ];
    // The address may be that of the API itself, as its own clients want it.
    let is_of_api = asking.url().to_string().rsplit('.').next() == Some("php");
    let path = if is_of_api { "" } else { "/yourls-api.php" };
    let answer = asking.ask(&Asked::Form(path, &fields))?;
    let answer = answer.ok_or_else(|| asking.not_from_there())?;
    let total = number(&answer["stats"]["total_links"]);
    let mut page = Page::default();
    match &answer["links"] {
        Value::Object(links) => {
            let numbered = (1..=links.len()).map(|at| format!("link_{at}"));
            for name in numbered {
                page.add(links.get(&name).ok_or_else(|| asking.not_from_there())?);
            }
        }
        Value::Array(links) if links.is_empty() => {}
        Value::Null if total.is_some() => {}
        _ => return Err(asking.not_from_there()),
    }
    page.is_last = page.links == 0 || total.is_some_and(|total| start + page.links >= total);
    Ok(page)
}

/// A number, which PHP may write as a text.
fn number(value: &Value) -> Option<u64> {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| value.as_u64())
}
