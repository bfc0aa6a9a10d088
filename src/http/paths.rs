//! The one table of paths: every route of the service, and which requests of it are redirects or need a permit.
//!
//! A page that is added here can no longer be a short code: reserved words and the paths that the fast path answers
//! follow from the table. A test of `api` compares the table with the router, in both directions.

use std::cmp::Reverse;
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;

use crate::domain::ShortCode;

mod pages;
mod route;

pub use pages::PAGES;
use route::{APP, ASSETS, PREVIEW, route};
pub use route::{Class, Route};

/// Every route of the service. The first one that matches a path is the router's choice: a word stands before a
/// parameter.
pub const ROUTES: [Route; 66] = [
    route(APPLE_FILE, Class::Bounded),
    route(ANDROID_FILE, Class::Bounded),
    route("/.well-known/security.txt", Class::Unbounded),
    route(STATEMENT_KEYS, Class::Bounded),
    route("/admin/audit", Class::Bounded),
    route("/admin/domains", Class::Bounded),
    route("/admin/domains/{host}", Class::Bounded),
    route("/admin/invitations", Class::Bounded),
    route("/admin/invitations/{id}", Class::Bounded),
    route("/admin/links", Class::Bounded),
    route("/admin/removals", Class::Bounded),
    route("/admin/removals/{id}", Class::Bounded),
    route("/admin/reports", Class::Bounded),
    route("/admin/reports/{id}", Class::Bounded),
    route("/admin/users", Class::Bounded),
    route("/auth/keys", Class::Bounded),
    route("/auth/keys/{id}", Class::Bounded),
    route("/auth/login", Class::Queued),
    route("/auth/logout-everywhere", Class::Bounded),
    route("/auth/me", Class::Bounded),
    route("/auth/password", Class::Queued),
    route("/auth/register", Class::Queued),
    route("/docs", Class::Unbounded),
    route("/docs/", Class::Unbounded),
    route("/docs/{file}", Class::Unbounded),
    route("/domains", Class::Bounded),
    route("/domains/ask", Class::Unbounded),
    route("/groups", Class::Bounded),
    route("/groups/{id}", Class::Bounded),
    route("/groups/{id}/members", Class::Bounded),
    route("/groups/{id}/members/{member}", Class::Bounded),
    route(HEALTH, Class::Unbounded),
    route("/hooks", Class::Bounded),
    route("/hooks/{id}", Class::Bounded),
    route("/hooks/{id}/deliveries", Class::Bounded),
    route("/hooks/{id}/replay", Class::Bounded),
    route(METRICS, Class::Unbounded),
    route("/openapi.json", Class::Unbounded),
    route("/ready", Class::Unbounded),
    route("/report", Class::Bounded),
    route(ROBOTS, Class::Unbounded),
    route("/urls/bulk", Class::Bounded),
    route("/urls/export", Class::Bounded),
    route("/urls/my", Class::Bounded),
    route("/urls/my/breakdown", Class::Bounded),
    route("/urls/my/events", Class::Bounded),
    route("/urls/my/series", Class::Bounded),
    route("/urls/r/{short_code}", Class::Redirect),
    route("/urls/shorten", Class::Bounded),
    route("/urls/tags", Class::Bounded),
    route("/urls/tags/{tag}", Class::Bounded),
    route("/urls/trash", Class::Bounded),
    route("/urls/trash/{short_code}", Class::Bounded),
    route("/urls/{short_code}", Class::Bounded),
    route("/urls/{short_code}/pool", Class::Bounded),
    route(QR, Class::Bounded),
    route("/urls/{short_code}/restore", Class::Bounded),
    route("/urls/{short_code}/shares", Class::Bounded),
    route("/urls/{short_code}/shares/{id}", Class::Bounded),
    route("/urls/{short_code}/statement", Class::Bounded),
    route("/urls/{short_code}/stats", Class::Bounded),
    route("/urls/{short_code}/stats/breakdown", Class::Bounded),
    route("/urls/{short_code}/stats/export", Class::Bounded),
    route("/urls/{short_code}/stats/live", Class::Bounded),
    route("/urls/{short_code}/stats/series", Class::Bounded),
    route("/{short_code}", Class::Redirect),
];

/// The paths of the APIs of other shorteners: the routes are in `compat`, and not in the document of the API.
pub const COMPAT: [Route; 21] = [
    route("/api/v2/health", Class::Unbounded),
    route("/api/v2/links", Class::Bounded),
    route("/api/v2/links/{id}", Class::Bounded),
    route("/api/v2/links/{id}/stats", Class::Bounded),
    route("/api/v2/users", Class::Bounded),
    route("/rest/health", Class::Unbounded),
    route("/rest/v3/domains", Class::Bounded),
    route("/rest/v3/domains/{id}/visits", Class::Bounded),
    route("/rest/v3/health", Class::Unbounded),
    route("/rest/v3/mercure-info", Class::Bounded),
    route("/rest/v3/short-urls", Class::Bounded),
    route("/rest/v3/short-urls/{id}", Class::Bounded),
    route("/rest/v3/short-urls/{id}/redirect-rules", Class::Bounded),
    route("/rest/v3/short-urls/{id}/visits", Class::Bounded),
    route("/rest/v3/tags", Class::Bounded),
    route("/rest/v3/tags/stats", Class::Bounded),
    route("/rest/v3/tags/{id}/visits", Class::Bounded),
    route("/rest/v3/visits", Class::Bounded),
    route("/rest/v3/visits/non-orphan", Class::Bounded),
    route("/rest/v3/visits/orphan", Class::Bounded),
    route("/yourls-api.php", Class::Bounded),
];

/// The files of a host for apps.
pub const ANDROID_FILE: &str = "/.well-known/assetlinks.json";
/// The same of Apple.
pub const APPLE_FILE: &str = "/.well-known/apple-app-site-association";

/// The keys by which statements are checked.
pub const STATEMENT_KEYS: &str = "/.well-known/shunt-keys.json";

const HEALTH: &str = "/health";
const ROBOTS: &str = "/robots.txt";

/// Whether a host beside the service's own has this path, apart from `/`: its codes with what belongs to each, and what every host has.
#[must_use]
pub fn is_of_every_host(path: &str) -> bool {
    let has_all = |route: &Route| {
        route.class == Class::Redirect
            || [QR, ASSETS, HEALTH, ROBOTS, ANDROID_FILE, APPLE_FILE].contains(&route.template)
    };
    let path = without_slash(path).unwrap_or(path);
    preview_path(path).is_some() || route_of(path).is_some_and(has_all)
}

/// Whether a path has a code of which the parameter `domain` may say whose it is. The query of a redirect is the visitor's.
#[must_use]
pub fn takes_domain(path: &str) -> bool {
    let takes = |route: &Route| route.class != Class::Redirect && route.template.contains(CODE);
    route_of(path).is_some_and(takes)
}

/// The QR code of a link: a form on the link's page leads there.
const QR: &str = "/urls/{short_code}/qr";

/// All routes, each word before a parameter.
fn all_routes() -> impl Iterator<Item = &'static Route> {
    PAGES.iter().chain(&COMPAT).chain(&ROUTES)
}

/// The metrics: on the public listener, or on a separate listener.
pub const METRICS: &str = "/metrics";

/// The parameter that is a short code.
const CODE: &str = "{short_code}";

/// What follows from the table.
struct Derived {
    /// What stands before a short code in a path, the longest first.
    code_prefixes: Vec<&'static str>,
    /// The routes of redirects.
    redirect_prefixes: Vec<&'static str>,
    /// Words in the place of a short code that belong to another route.
    reserved: Vec<&'static str>,
    /// The same words by their length: most codes are as long as few of them.
    reserved_by_length: Vec<Vec<&'static str>>,
}

static DERIVED: LazyLock<Derived> = LazyLock::new(|| {
    let all_prefixes = code_prefixes(|_| true);
    let templates = || all_routes().map(|route| route.template);
    let mut reserved: Vec<_> = all_prefixes
        .iter()
        .flat_map(|prefix| templates().filter_map(move |template| template.strip_prefix(prefix)))
        .filter_map(|rest| rest.split('/').next())
        .filter(|word| ShortCode::parse(word).is_some())
        .collect();
    reserved.sort_unstable();
    reserved.dedup();
    let longest = reserved.iter().map(|word| word.len()).max().unwrap_or(0);
    let mut reserved_by_length = vec![Vec::new(); longest + 1];
    for word in &reserved {
        reserved_by_length[word.len()].push(*word);
    }
    Derived {
        reserved_by_length,
        redirect_prefixes: code_prefixes(|route| route.class == Class::Redirect),
        code_prefixes: all_prefixes,
        reserved,
    }
});

/// What stands before a short code in the templates of these routes, the longest first.
fn code_prefixes(is_wanted: fn(&Route) -> bool) -> Vec<&'static str> {
    let mut prefixes: Vec<_> = all_routes()
        .filter(|route| is_wanted(route))
        .filter_map(|route| Some(route.template.split_once(CODE)?.0))
        .collect();
    prefixes.sort_unstable_by_key(|prefix| (Reverse(prefix.len()), *prefix));
    prefixes.dedup();
    prefixes
}

/// The route that the router chooses for a path; `None` without a route.
#[must_use]
pub fn route_of(path: &str) -> Option<&'static Route> {
    all_routes().find(|route| matches(route.template, path))
}

/// Whether the router reads a path by a template. Its parameters may be empty, as in `/urls//stats`, but not at the end.
fn matches(template: &str, path: &str) -> bool {
    let (mut expected, mut given) = (template.split('/'), path.split('/'));
    let mut is_empty = false;
    loop {
        match (expected.next(), given.next()) {
            (None, None) => return !is_empty,
            (Some(expected), Some(given)) if expected.starts_with('{') => {
                is_empty = given.is_empty();
            }
            (Some(expected), Some(given)) if expected == given => is_empty = false,
            _ => return false,
        }
    }
}

/// Words that have the shape of a short code, but are paths of the service.
#[must_use]
pub fn reserved_words() -> &'static [&'static str] {
    &DERIVED.reserved
}

/// More words that no owner may choose as a code: pages of later versions may have these paths.
const KEPT_WORDS: [&str; 14] = [
    "account", "admin", "api", "app", "assets", "errors", "help", "index", "login", "privacy",
    "report", "robots", "static", "terms",
];

/// Whether a word is reserved, in any case: no owner may choose it as a code.
#[must_use]
pub fn is_reserved(word: &str) -> bool {
    let mut words = reserved_words().iter().chain(&KEPT_WORDS);
    words.any(|kept| kept.eq_ignore_ascii_case(word))
}

/// The short code in a path, or given by a person; `None` if it can never be a code.
#[must_use]
pub fn parse_code(raw: &str) -> Option<ShortCode> {
    let words = DERIVED.reserved_by_length.get(raw.len());
    let is_reserved = words.is_some_and(|words| words.contains(&raw));
    ShortCode::parse(raw).filter(|_| !is_reserved)
}

/// The code in a path or a form of a page, which may be of another host ([`ShortCode::in_path`]).
#[must_use]
pub fn parse_placed_code(raw: &str) -> Option<ShortCode> {
    let (domain, code) = ShortCode::split_path(raw);
    parse_code(code).map(|code| code.at(domain))
}

/// The code of a redirect: in `/{short_code}` and `/urls/r/{short_code}`, perhaps followed by a slash. `None` for anything that
/// needs decoding or is not a code: the router answers it.
#[must_use]
pub fn redirect_code(path: &str) -> Option<ShortCode> {
    let mut prefixes = DERIVED.redirect_prefixes.iter();
    let rest = prefixes.find_map(|prefix| path.strip_prefix(prefix))?;
    parse_code(rest.strip_suffix('/').unwrap_or(rest))
}

/// The path without the single slash that some programs write after a code, and people after a page; `None` without such a
/// slash.
#[must_use]
pub fn without_slash(path: &str) -> Option<&str> {
    let plain = path.strip_suffix('/')?;
    let template = route_of(plain)?.template;
    if template == APP
        || template
            .strip_prefix(APP)
            .is_some_and(|below| below.starts_with('/'))
    {
        return Some(plain);
    }
    let prefix = template.strip_suffix(CODE)?;
    let word = plain.strip_prefix(prefix)?;
    (!reserved_words().contains(&word)).then_some(plain)
}

/// The path of the page that shows where a link leads, for `/{short_code}+`.
#[must_use]
pub fn preview_path(path: &str) -> Option<String> {
    let code = path.strip_suffix('+').or_else(|| {
        let encoded = path.strip_suffix("%2B");
        encoded.or_else(|| path.strip_suffix("%2b"))
    })?;
    let code = parse_code(code.strip_prefix('/')?)?;
    Some(PREVIEW.replace(CODE, code.as_str()))
}

/// Whether people may meet a path in a browser: a short link, a page, the address of a form, or a path that the service does
/// not have.
#[must_use]
pub fn is_for_people(path: &str) -> bool {
    let is_met = |route: &Route| {
        PAGES.contains(route) || route.class == Class::Redirect || route.template == QR
    };
    route_of(path).is_none_or(is_met)
}

/// The code in the place of one in a path, as the router reads it: decoded. A code that is not UTF-8 is none.
#[must_use]
pub fn decoded_code(path: &str) -> Option<ShortCode> {
    let mut prefixes = DERIVED.code_prefixes.iter();
    let (prefix, rest) = prefixes.find_map(|prefix| Some((prefix, path.strip_prefix(prefix)?)))?;
    let raw = rest.split('/').next()?;
    let decoded = percent_decode_str(raw).decode_utf8().ok()?;
    if DERIVED.redirect_prefixes.contains(prefix) {
        return parse_code(&decoded);
    }
    parse_placed_code(&decoded)
}

#[cfg(test)]
mod tests;
