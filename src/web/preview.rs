//! `/{code}+`: where a link leads, without following it. Nothing is counted.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use icu_properties::CodePointMapData;
use icu_properties::props::Script;
use url::{Host, Url};

use super::error_pages::PageWish;
use super::page::{Frame, Site, public_page};
use super::removed::removed_page;
use crate::abuse::Abuse;
use crate::domain::Zone;
use crate::http::{ApiError, ClientAddress, PathCode, with_clicks_as_of};
use crate::links::{LinkPreview, LinkService, ShownLeads};

#[derive(Template)]
#[template(path = "preview.html")]
struct PreviewPage<'a> {
    frame: Frame<'a>,
    short_url: String,
    /// Its own code, and the code that was asked for, which is followed.
    code: String,
    asked_code: String,
    /// Of a link of another host, the service's own address.
    service: &'a str,
    /// Nothing where statistics are not public.
    clicks: Option<String>,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    /// The date on which the link was made, for programs and for people.
    made: String,
    made_on: String,
    /// The name of its title.
    title: &'static str,
    /// The name of a text, if no target is shown.
    text: Option<&'static str>,
    target: Option<ShownTarget<'a>>,
    /// How many rules it has, which may lead elsewhere.
    rules: usize,
    /// Whether it can be followed.
    is_followed: bool,
}

/// A target whose host a reader finds at once.
#[derive(Debug, PartialEq, Eq)]
struct ShownTarget<'a> {
    whole: &'a str,
    before: &'a str,
    host: &'a str,
    after: &'a str,
    /// The other form of an international host: letters if the target has punycode, and the other way round.
    other_form: Option<String>,
    mixes_scripts: bool,
}

impl<'a> ShownTarget<'a> {
    fn of(target: &'a str) -> Self {
        let authority = target.find("://").map_or(0, |at| at + 3);
        let end = target[authority..].find(['/', '?', '#', '\\']);
        let end = end.map_or(target.len(), |at| authority + at);
        let host = &target[authority..end];
        let ascii = Url::parse(target).ok().and_then(|url| match url.host() {
            Some(Host::Domain(domain)) => Some(domain.to_owned()),
            _ => None,
        });
        let letters = ascii
            .as_deref()
            .map(|ascii| idna::domain_to_unicode(ascii).0);
        let is_international = letters != ascii;
        let has_letters = host.bytes().any(|byte| !byte.is_ascii());
        let other = if has_letters { &ascii } else { &letters };
        Self {
            whole: target,
            before: &target[..authority],
            host,
            after: &target[end..],
            other_form: other.clone().filter(|_| is_international),
            mixes_scripts: letters.is_some_and(|host| host.split('.').any(mixes_scripts)),
        }
    }
}

/// Whether a label mixes letters of scripts that no writing system uses together: such a host may imitate another.
fn mixes_scripts(label: &str) -> bool {
    let script_of = CodePointMapData::<Script>::new();
    let mut scripts: HashSet<Script> = label.chars().map(|char| script_of.get(char)).collect();
    scripts.remove(&Script::Common);
    scripts.remove(&Script::Inherited);
    let systems: [&[Script]; 3] = [
        &[
            Script::Latin,
            Script::Han,
            Script::Hiragana,
            Script::Katakana,
        ],
        &[Script::Latin, Script::Han, Script::Hangul],
        &[Script::Latin, Script::Han, Script::Bopomofo],
    ];
    let is_of = |system: &[Script]| scripts.iter().all(|script| system.contains(script));
    scripts.len() > 1 && !systems.into_iter().any(is_of)
}

pub(super) async fn preview(
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    PathCode(code): PathCode,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let wish = PageWish::accepted(&headers).ok_or_else(ApiError::url_not_found)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let preview = links.preview(&code, client.as_str()).await?;
    let asked_code = code.to_string();
    let (code, leads, made_at, clicks, as_of) = match preview.ok_or_else(ApiError::url_not_found)? {
        LinkPreview::Removed(status) => {
            let reason = abuse.reason_of(&code).await?;
            let answered = ApiError::url_removed(status).status();
            return removed_page(&site, wish.language(), answered, reason.as_deref());
        }
        LinkPreview::Made {
            code,
            leads,
            made_at,
            clicks,
            as_of,
        } => (code, leads, made_at, clicks, as_of),
    };
    let (title, text) = match &leads {
        ShownLeads::To(..) => ("preview_title", None),
        ShownLeads::ToPool => ("preview_title", Some("preview_pool")),
        ShownLeads::Locked => ("password_title", Some("password_text")),
        ShownLeads::Later => ("scheduled_title", Some("scheduled_text")),
        ShownLeads::Nowhere => ("ended_title", Some("ended_text")),
    };
    let (target, rules) = match &leads {
        ShownLeads::To(target, rules) => (Some(ShownTarget::of(target.as_str())), *rules),
        _ => (None, 0),
    };
    let page = PreviewPage {
        made: made_at.date(),
        made_on: wish.language().date(made_at, &Zone::UTC),
        frame: Frame::public(&site, wish.language()),
        short_url: site.short_url(&code),
        // Another host has no pages for reports.
        service: if code.domain().is_own() {
            ""
        } else {
            site.base_url()
        },
        code: code.in_path().into_owned(),
        asked_code,
        clicks: links
            .stats_are_public()
            .then(|| wish.language().number(clicks)),
        as_of: as_of.map(|moment| wish.language().minute(moment)),
        title,
        text,
        target,
        rules,
        is_followed: !matches!(leads, ShownLeads::Later | ShownLeads::Nowhere),
    };
    Ok(with_clicks_as_of(
        public_page(StatusCode::OK, &page)?,
        as_of,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_host_is_set_off_and_its_other_form_shown() {
        let plain = ShownTarget::of("https://example.org:8080/a?b#c");
        assert_eq!(
            (plain.before, plain.host, plain.after),
            ("https://", "example.org:8080", "/a?b#c")
        );
        assert_eq!((plain.other_form, plain.mixes_scripts), (None, false));
        let punycode = ShownTarget::of("https://xn--bcher-kva.example/");
        assert_eq!(punycode.other_form.as_deref(), Some("bücher.example"));
        let letters = ShownTarget::of("https://bücher.example/");
        assert_eq!(letters.other_form.as_deref(), Some("xn--bcher-kva.example"));
        // The first letter is Cyrillic.
        assert!(ShownTarget::of("https://аpple.example/").mixes_scripts);
        assert!(ShownTarget::of("https://xn--pple-43d.example/").mixes_scripts);
        assert!(!ShownTarget::of("https://日本のドメイン.example/").mixes_scripts);
    }

    proptest! {
        #[test]
        fn the_three_parts_are_the_target(rest in "\\PC{0,60}") {
            let target = format!("https://{rest}");
            let shown = ShownTarget::of(&target);
            prop_assert_eq!(format!("{}{}{}", shown.before, shown.host, shown.after), target);
        }
    }
}
