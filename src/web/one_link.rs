//! One link: its address, its state, its clicks over time, who made them; and its deletion.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::breakdowns::{BreakdownsView, imported, wanted};
use super::clicks::{ClicksPage, ClicksQuery, ClicksRequest};
use super::clicks_view::ClicksView;
use super::form::Form;
use super::language::Language;
use super::link_list::ListQuery;
use super::page::{Frame, Site, own_page_as_of, see_other};
use super::qr_page::{Look, LookQuery, without_scheme};
use super::session::SignedIn;
use crate::abuse::Abuse;
use crate::domain::{
    Link, LinkStatus, Principal, PrivateNote, RemovalStatus, ShortCode, TargetUrl, Timestamp,
    Title, Zone,
};
use crate::http::{ApiError, PathCode, QueryOf, clicks_csv, with_clicks_as_of};
use crate::links::{CountedLink, Expected, LinkService, WantedBreakdown};

#[derive(Template)]
#[template(path = "one_link.html")]
struct LinkPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    /// The code as people read it.
    shown: String,
    short_url: String,
    without_scheme: String,
    clicks: String,
    status: &'static str,
    is_active: bool,
    is_paused: bool,
    title: String,
    target: String,
    note: String,
    tags: Vec<TagLink>,
    removed: Option<Removed>,
    /// When it was made, starts and ends, and its bounds, in sentences.
    facts: Vec<String>,
    /// Where visitors are sent if it is not followed; empty for nowhere.
    fallback: String,
    /// How many rules it has; empty without rules.
    rules: String,
    /// What is said of click counts that are not exact.
    as_of: Option<String>,
    said: &'static str,
    /// Whether it was made just now: its page says so, and has no clicks yet.
    is_new: bool,
    series: ClicksView,
    visitors: BreakdownsView,
    /// The clicks by code; empty if the link has no alias.
    codes: Vec<CodeRow>,
    look: Look,
}

/// A tag, and the part of an address that asks for it.
struct TagLink {
    name: String,
    query: String,
}

/// That administrators removed the link, and why.
struct Removed {
    text: &'static str,
    reason: Option<String>,
}

impl Removed {
    /// What the owner of a link reads about its removal; `None` if it is not removed.
    async fn of(language: Language, link: &Link, abuse: &Abuse) -> Result<Option<Self>, ApiError> {
        let text = match link.removed {
            None => return Ok(None),
            Some(RemovalStatus::Gone) => language.text("link_removed"),
            Some(RemovalStatus::LegalReasons) => language.text("link_removed_legal"),
        };
        let reason = abuse.reason_of(&link.code).await?;
        Ok(Some(Self { text, reason }))
    }
}

/// What was done just now.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    new: String,
    saved: String,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(done): QueryOf<Done>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let since = since(&links, signed_in.principal, &code, &query).await?;
    let asked = query.asked(links.clock.now(), since, signed_in.headers());
    let reader = (signed_in.principal, signed_in.owner().language);
    let clicks = LinkClicks::of(&links, &site, reader, &code, &asked, None).await?;
    let frame = Frame::own(&site, signed_in.owner());
    let language = frame.language;
    let (zone, now) = (asked.range.zone(), links.clock.now());
    let LinkClicks {
        shown,
        series,
        visitors,
        codes,
    } = clicks;
    let link = &shown.link;
    let properties = &link.properties;
    let title = properties.title.as_ref().map(Title::as_str);
    let note = properties.note.as_ref().map(PrivateNote::as_str);
    let fallback = properties.fallback.as_ref().map(TargetUrl::as_str);
    let status = shown.status(now);
    let rules = properties.rules.iter();
    let rules = rules.map(|rules| rules.as_slice().len()).sum::<usize>();
    let short_url = site.short_url(&link.code);
    let page = LinkPage {
        csrf: signed_in.owner().csrf,
        code: link.code.in_path().into_owned(),
        shown: site.shown_code(&link.code),
        without_scheme: without_scheme(&short_url),
        short_url,
        clicks: language.number(shown.clicks),
        status: status_text(language, status),
        is_active: status == LinkStatus::Active,
        is_paused: !properties.is_active,
        title: title.unwrap_or_default().to_owned(),
        target: properties.target.as_str().to_owned(),
        note: note.unwrap_or_default().to_owned(),
        tags: properties
            .tags
            .as_slice()
            .iter()
            .map(|tag| TagLink::of(tag))
            .collect(),
        removed: Removed::of(language, link, &abuse).await?,
        facts: facts(language, zone, now, link),
        fallback: fallback.unwrap_or_default().to_owned(),
        rules: match rules {
            0 => String::new(),
            rules => language.count("link_rules", rules as u64),
        },
        as_of: shown.as_of.map(|as_of| said_as_of(language, zone, as_of)),
        said: if done.saved.is_empty() {
            ""
        } else {
            language.text("link_saved")
        },
        is_new: !done.new.is_empty(),
        series,
        visitors,
        codes,
        look: Look::new(language, &link.code, site.logo(), &LookQuery::default()),
        frame,
    };
    let fault = asked.fault.as_ref();
    let status = fault.map_or(StatusCode::OK, |fault| fault.error.status());
    own_page_as_of(status, &page, shown.as_of)
}

/// When the link was made, if all of the time is asked for.
pub(super) async fn since(
    links: &LinkService,
    owner: Principal,
    code: &ShortCode,
    query: &ClicksQuery,
) -> Result<Option<Timestamp>, ApiError> {
    if !query.is_of_all_time() {
        return Ok(None);
    }
    let found = links.show(owner, code).await?;
    let found = found.ok_or_else(ApiError::url_not_found)?;
    Ok(Some(found.link.created_at))
}

/// The link, and what is known of its clicks.
pub(super) struct LinkClicks {
    pub(super) shown: CountedLink,
    pub(super) series: ClicksView,
    pub(super) visitors: BreakdownsView,
    codes: Vec<CodeRow>,
}

/// A code of the link, its address, and the clicks by it.
struct CodeRow {
    code: String,
    shown: String,
    short_url: String,
    clicks: String,
}

impl LinkClicks {
    /// As the owner of the link reads it, or who has a share of it, on the page at `path`; unless given, the page of the link.
    pub(super) async fn of(
        links: &LinkService,
        site: &Site,
        (owner, language): (Principal, Language),
        code: &ShortCode,
        asked: &ClicksRequest,
        path: Option<String>,
    ) -> Result<Self, ApiError> {
        let found = links.own_series(owner, code, &asked.range).await?;
        let (shown, mut clicks) = found.ok_or_else(ApiError::url_not_found)?;
        let last = clicks.last;
        let mut breakdowns = Vec::new();
        let mut has_whole_days_only = false;
        if site.keeps_classes() {
            let found = links.breakdowns(owner, code, wanted(asked)).await?;
            breakdowns = found.ok_or_else(ApiError::url_not_found)?;
            if !asked.filters.is_empty() {
                let filtered = links.filtered_series(owner, code, &wanted(asked)).await?;
                let filtered = filtered.ok_or_else(ApiError::url_not_found)?;
                has_whole_days_only = filtered.has_whole_days_only;
                clicks = filtered.clicks;
            }
        }
        let mut codes = Vec::new();
        if !shown.link.properties.aliases.as_slice().is_empty() {
            let found = links.clicks_by_code(owner, code, &asked.range).await?;
            let found = found.ok_or_else(ApiError::url_not_found)?;
            codes.extend(found.rows.iter().map(|(code, clicks)| CodeRow {
                code: code.in_path().into_owned(),
                shown: site.shown_code(code),
                short_url: site.short_url(code),
                clicks: language.number(*clicks),
            }));
        }
        let own_path = format!("/app/links/{}", shown.link.code.in_path());
        let live = format!("{own_path}/live");
        let place = ClicksPage {
            path: path.unwrap_or(own_path),
            narrowed: Vec::new(),
        };
        let now = links.clock.now();
        clicks.last = last;
        let mut series = ClicksView::new(language, &place, asked, &clicks, now);
        series = series.with_last(language, &asked.range, &clicks, now);
        series.imported = imported(language, &breakdowns);
        series.has_whole_days_only = has_whole_days_only;
        series.all_time = Some((language.number(shown.clicks), live));
        Ok(Self {
            series,
            visitors: BreakdownsView::new(language, &place, asked, breakdowns, site),
            shown,
            codes,
        })
    }
}

impl TagLink {
    fn of(name: &str) -> Self {
        let mut query = Serializer::new(String::new());
        query.append_pair("tag", name);
        Self {
            name: name.to_owned(),
            query: query.finish(),
        }
    }
}

/// A status in a person's words.
fn status_text(language: Language, status: LinkStatus) -> &'static str {
    match status {
        LinkStatus::Active => language.text("link_status_active"),
        LinkStatus::Inactive => language.text("link_status_paused"),
        LinkStatus::Scheduled => language.text("link_status_scheduled"),
        LinkStatus::Expired => language.text("link_status_expired"),
        LinkStatus::UsedUp => language.text("link_status_limit"),
        LinkStatus::Removed => language.text("link_status_removed"),
    }
}

/// When a link was made, starts and ends, and its bounds.
fn facts(language: Language, zone: &Zone, now: Timestamp, link: &Link) -> Vec<String> {
    let properties = &link.properties;
    let moment = |name, at| {
        let at = language.moment(at, zone);
        language.with(name, &[("moment", &at)])
    };
    let starts = properties.starts_at.filter(|start| now < *start);
    let mut facts = vec![moment("link_created", link.created_at)];
    facts.extend(starts.map(|start| moment("link_starts", start)));
    facts.push(match properties.expires_at {
        None => language.text("link_never_ends").to_owned(),
        Some(end) if end <= now => moment("link_ended", end),
        Some(end) => moment("link_ends", end),
    });
    let limit = properties
        .max_clicks
        .map(|most| language.count("link_limit", most.number()));
    facts.extend(limit);
    if properties.password.is_some() {
        facts.push(language.text("link_has_password").to_owned());
    }
    facts
}

/// What is said of click counts that are not exact.
pub(super) fn said_as_of(language: Language, zone: &Zone, as_of: Timestamp) -> String {
    let moment = language.moment(as_of, zone);
    language.with("counts_as_of", &[("moment", &moment)])
}

/// The clicks over time, and who made them, as a file.
pub(super) async fn export(
    State(links): State<Arc<LinkService>>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let since = since(&links, signed_in.principal, &code, &query).await?;
    let range = query.range(links.clock.now(), since, signed_in.headers())?;
    let found = links.own_series(signed_in.principal, &code, &range).await?;
    let (shown, clicks) = found.ok_or_else(ApiError::url_not_found)?;
    let (owner, code) = (signed_in.principal, &shown.link.code);
    let breakdowns = links.breakdowns(owner, code, WantedBreakdown::all(&range));
    let breakdowns = breakdowns.await?.unwrap_or_default();
    let by_code = links.clicks_by_code(owner, code, &range).await?;
    let (name, series) = (code.as_str(), &clicks.series);
    let csv = clicks_csv(name, &range, series, &breakdowns, by_code.as_ref())?;
    Ok(with_clicks_as_of(csv, clicks.as_of))
}

pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if !links
        .delete(signed_in.principal, &code, &Expected::Any)
        .await?
    {
        return Err(ApiError::url_not_found());
    }
    let list = ListQuery::default();
    Ok(see_other(&match links.trash_days {
        0 => list.path("deleted"),
        _ => list.path_after_deletion(std::iter::once(&*code.in_path())),
    }))
}
