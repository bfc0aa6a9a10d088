//! All links of an owner together: their clicks over time, the links with most clicks, and the links that expire soon.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::breakdowns::{BreakdownsView, imported, wanted};
use super::clicks::{ClicksPage, ClicksQuery, ClicksView};
use super::link_list::LinkRow;
use super::page::{Frame, Site, grouped, minute, own_page_as_of};
use super::session::SignedIn;
use crate::domain::{LinkFilter, LinkGroup, LinkOrder};
use crate::http::{ApiError, QueryOf, clicks_csv, with_clicks_as_of};
use crate::links::{LinkService, Listing, WantedBreakdown};

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
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    series: ClicksView,
    visitors: BreakdownsView,
    most: Vec<LinkRow>,
    ending: Vec<Ending>,
}

/// A link that ends.
struct Ending {
    row: LinkRow,
    ends: String,
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
    let asked = query.asked(links.clock.now(), signed_in.headers());
    let wanted_links = group.parse(&links)?;
    let owner = signed_in.principal;
    let clicks = links.compared_series_of_owner(owner, &wanted_links, &asked.range);
    let clicks = clicks.await?;
    let mut found = Vec::new();
    if site.keeps_classes() {
        let wanted_links = wanted_links.clone();
        found = links
            .breakdowns_of_owner(owner, wanted_links, wanted(&asked))
            .await?;
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
    let as_of = [clicks.as_of, most.as_of, ending.as_of].into_iter();
    let as_of = as_of.flatten().min();
    let ending = ending.links().map(|listed| Ending {
        ends: listed
            .link
            .properties
            .expires_at
            .map_or_else(String::new, |end| {
                asked.range.zone().shown_to_the_minute(end)
            }),
        row: LinkRow::of(listed, &site),
    });
    let status = asked
        .fault
        .as_ref()
        .map_or(StatusCode::OK, ApiError::status);
    let place = ClicksPage {
        path: PATH.to_owned(),
        narrowed: group.given(),
    };
    let mut series = ClicksView::new(&place, &asked, &clicks);
    series.imported = imported(&found);
    series.live = live_path(&asked.given, &group);
    let page = AllLinksPage {
        frame: Frame::own(&site, signed_in.owner()),
        tag: &group.tag,
        hosts: links.hosts_of(owner).await?,
        domain: &group.domain,
        own_host: site.own_host(),
        given: &asked.given,
        as_of: as_of.map(minute),
        series,
        visitors: BreakdownsView::new(&place, &asked, found, &site),
        most: most.links().map(|link| LinkRow::of(link, &site)).collect(),
        ending: ending.collect(),
    };
    own_page_as_of(status, &page, as_of)
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
    let (range, fault) = query.range(links.clock.now(), signed_in.headers());
    if let Some(fault) = fault {
        return Err(fault);
    }
    let group = group.parse(&links)?;
    let owner = signed_in.principal;
    let series = links.series_of_owner(owner, &group, &range);
    Ok(grouped(series.await?.sum().clicks))
}

/// The clicks over time, and who made them, as a file.
pub(super) async fn export(
    State(links): State<Arc<LinkService>>,
    signed_in: SignedIn,
    QueryOf(group): QueryOf<GroupQuery>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let (range, fault) = query.range(links.clock.now(), signed_in.headers());
    if let Some(fault) = fault {
        return Err(fault);
    }
    let group = group.parse(&links)?;
    let owner = signed_in.principal;
    let clicks = links.compared_series_of_owner(owner, &group, &range);
    let clicks = clicks.await?;
    let wanted = WantedBreakdown::all(&range);
    let breakdowns = links.breakdowns_of_owner(owner, group, wanted).await?;
    let csv = clicks_csv("clicks", &range, &clicks.series, &breakdowns, None)?;
    Ok(with_clicks_as_of(csv, clicks.as_of))
}
