//! All links of an owner together: their clicks over time, the links with most clicks, and the links that expire soon.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::breakdowns::{BreakdownsView, imported, wanted};
use super::clicks::{ClicksPage, ClicksQuery};
use super::clicks_view::ClicksView;
use super::language::Language;
use super::one_link::said_as_of;
use super::page::{Frame, Site, own_page_as_of};
use super::session::SignedIn;
use crate::domain::{LinkFilter, LinkGroup, LinkOrder, Principal, Timestamp, Title};
use crate::http::{ApiError, QueryOf, clicks_csv, with_clicks_as_of};
use crate::links::{LinkService, ListedLink, Listing, WantedBreakdown};

/// Links in each of the two lists.
const LISTED: u32 = 10;

const PATH: &str = "/app/all";

#[derive(Template)]
#[template(path = "all_links.html")]
struct AllLinksPage<'a> {
    frame: Frame<'a>,
    tag: &'a str,
    /// The host to which the page is narrowed, and the hosts that may be chosen.
    domain: &'a str,
    own_host: &'a str,
    hosts: Vec<String>,
    /// The requested range, which a change of the tag keeps.
    given: &'a [(&'static str, String)],
    /// What is said of click counts that are not exact.
    as_of: Option<String>,
    series: ClicksView,
    visitors: BreakdownsView,
    most: Vec<TopLink>,
    ending: Vec<Ending>,
}

/// A link of the two lists.
struct TopLink {
    code: String,
    name: String,
    target: String,
    clicks: String,
}

/// A link that ends.
struct Ending {
    row: TopLink,
    ends: String,
}

impl TopLink {
    fn of(language: Language, listed: ListedLink<'_>, site: &Site) -> Self {
        let (code, properties) = (&listed.link.code, &listed.link.properties);
        let title = properties.title.as_ref().map(Title::as_str);
        Self {
            code: code.in_path().into_owned(),
            name: title.map_or_else(|| site.shown_code(code), str::to_owned),
            target: properties.target.as_str().to_owned(),
            clicks: language.count("clicks", listed.clicks),
        }
    }
}

/// The tag and the host to which the page is narrowed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct GroupQuery {
    tag: String,
    domain: String,
}

impl GroupQuery {
    fn parse(&self, links: &LinkService) -> Result<LinkGroup, ApiError> {
        fn filled(raw: &str) -> Option<&str> {
            Some(raw).filter(|raw| !raw.is_empty())
        }
        let group = links.group(filled(&self.tag), filled(&self.domain));
        group.map_err(|error| ApiError::invalid(error.to_string()))
    }

    /// What is given, as parameters.
    fn given(&self) -> Vec<(&'static str, String)> {
        let all = [("tag", &self.tag), ("domain", &self.domain)];
        let given = all.into_iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| (name, value.clone())).collect()
    }
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(group): QueryOf<GroupQuery>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let owner = signed_in.principal;
    let (language, now) = (signed_in.owner().language, links.clock.now());
    let since = since(&links, owner, &query).await?;
    let asked = query.asked(now, since, signed_in.headers());
    let wanted_links = group.parse(&links)?;
    let clicks = links.compared_series_of_owner(owner, &wanted_links, &asked.range);
    let mut clicks = clicks.await?;
    let counts_as_of = clicks.as_of;
    let mut has_whole_days_only = false;
    let mut found = Vec::new();
    if site.keeps_classes() {
        let wanted_links = wanted_links.clone();
        found = links
            .breakdowns_of_owner(owner, wanted_links, wanted(&asked))
            .await?;
    }
    if site.keeps_classes() && !asked.filters.is_empty() {
        let wanted = wanted(&asked);
        let filtered = links.filtered_series_of_owner(owner, &wanted_links, &wanted);
        let filtered = filtered.await?;
        has_whole_days_only = filtered.has_whole_days_only;
        clicks = filtered.clicks;
    }
    let listing = Listing {
        filter: LinkFilter {
            tag: wanted_links.tag,
            domain: wanted_links.domain,
            ..LinkFilter::default()
        },
        order: LinkOrder::MostClicks,
    };
    let most = links.page(owner, &listing, None, LISTED).await?;
    let ending = links.ending(owner, LISTED).await?;
    // The three are read one after the other: the earliest moment holds for all of them.
    let as_of = [counts_as_of, most.as_of, ending.as_of].into_iter();
    let as_of = as_of.flatten().min();
    let zone = asked.range.zone();
    let ending = ending.links().map(|listed| Ending {
        ends: listed
            .link
            .properties
            .expires_at
            .map_or_else(String::new, |end| language.moment(end, zone)),
        row: TopLink::of(language, listed, &site),
    });
    let fault = asked.fault.as_ref();
    let status = fault.map_or(StatusCode::OK, |fault| fault.error.status());
    let place = ClicksPage {
        path: PATH.to_owned(),
        narrowed: group.given(),
    };
    let mut series = ClicksView::new(language, &place, &asked, &clicks, now);
    series.imported = imported(language, &found);
    series.has_whole_days_only = has_whole_days_only;
    // A filtered sum is that of the newest summing, which is not read again.
    if asked.filters.is_empty() {
        series.live = live_path(&asked.given, &group);
    }
    let page = AllLinksPage {
        frame: Frame::own(&site, signed_in.owner()),
        tag: &group.tag,
        hosts: links.hosts_of(owner).await?,
        domain: &group.domain,
        own_host: site.own_host(),
        given: &asked.given,
        as_of: as_of.map(|as_of| said_as_of(language, zone, as_of)),
        series,
        visitors: BreakdownsView::new(language, &place, &asked, found, &site),
        most: (most.links())
            .map(|link| TopLink::of(language, link, &site))
            .collect(),
        ending: ending.collect(),
    };
    own_page_as_of(status, &page, as_of)
}

/// When the oldest link was made, if all of the time is asked for.
async fn since(
    links: &LinkService,
    owner: Principal,
    query: &ClicksQuery,
) -> Result<Option<Timestamp>, ApiError> {
    if !query.is_of_all_time() {
        return Ok(None);
    }
    let listing = Listing {
        filter: LinkFilter::default(),
        order: LinkOrder::Oldest,
    };
    let oldest = links.page(owner, &listing, None, 1).await?;
    let mut oldest = oldest.links().map(|listed| listed.link.created_at);
    Ok(oldest.next())
}

/// The address at which the clicks of the requested range can be read again. A range without an end grows with the time.
fn live_path(given: &[(&'static str, String)], group: &GroupQuery) -> String {
    let query = Serializer::new(String::new())
        .extend_pairs(given)
        .extend_pairs(group.given())
        .finish();
    format!("{PATH}/count?{query}")
}

/// The number of clicks of the range, as the page writes it: the page reads it again while it is looked at.
pub(super) async fn count(
    State(links): State<Arc<LinkService>>,
    signed_in: SignedIn,
    QueryOf(group): QueryOf<GroupQuery>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<String, ApiError> {
    let owner = signed_in.principal;
    let since = since(&links, owner, &query).await?;
    let range = query.range(links.clock.now(), since, signed_in.headers())?;
    let group = group.parse(&links)?;
    let series = links.series_of_owner(owner, &group, &range);
    let clicks = series.await?.sum().clicks;
    Ok(signed_in.owner().language.number(clicks))
}

/// The clicks over time, and who made them, as a file.
pub(super) async fn export(
    State(links): State<Arc<LinkService>>,
    signed_in: SignedIn,
    QueryOf(group): QueryOf<GroupQuery>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let owner = signed_in.principal;
    let since = since(&links, owner, &query).await?;
    let range = query.range(links.clock.now(), since, signed_in.headers())?;
    let group = group.parse(&links)?;
    let clicks = links.compared_series_of_owner(owner, &group, &range);
    let clicks = clicks.await?;
    let wanted = WantedBreakdown::all(&range);
    let breakdowns = links.breakdowns_of_owner(owner, group, wanted).await?;
    let csv = clicks_csv("clicks", &range, &clicks.series, &breakdowns, None)?;
    Ok(with_clicks_as_of(csv, clicks.as_of))
}
