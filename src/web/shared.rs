//! The statistics of a link, for who has a share of them: as its owner sees them, and nothing else.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::breakdowns::BreakdownsView;
use super::clicks::ClicksQuery;
use super::clicks_view::ClicksView;
use super::language::Language;
use super::one_link::{LinkClicks, said_as_of, since};
use super::page::{Frame, Site, public_page};
use crate::domain::{OneTimeToken, Title};
use crate::http::{ApiError, ClientAddress, QueryOf, with_clicks_as_of};
use crate::links::LinkService;

#[derive(Template)]
#[template(path = "shared.html")]
struct SharedPage<'a> {
    frame: Frame<'a>,
    title: String,
    short_url: String,
    /// What is said of click counts that are not exact.
    as_of: Option<String>,
    series: ClicksView,
    visitors: BreakdownsView,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    Path(token): Path<String>,
    client: ClientAddress,
    headers: HeaderMap,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let language = Language::of_headers(&headers);
    let secret = OneTimeToken::parse(&token);
    let shared = links.shared_by(secret.as_ref(), client.as_str()).await?;
    let shared = shared.ok_or_else(ApiError::not_found)?;
    let (owner, now) = (shared.owner, links.clock.now());
    let since = since(&links, owner, &shared.code, &query).await?;
    let asked = query.asked(now, since, &headers);
    let path = Some(format!("/app/shared/{token}"));
    let reader = (owner, language);
    let clicks = LinkClicks::of(&links, &site, reader, &shared.code, &asked, path).await?;
    let link = &clicks.shown.link;
    let title = link.properties.title.as_ref().map(Title::as_str);
    let as_of = clicks.shown.as_of;
    let page = SharedPage {
        frame: Frame::public(&site, language),
        title: title.map_or_else(|| site.shown_code(&link.code), str::to_owned),
        short_url: site.short_url(&link.code),
        as_of: as_of.map(|as_of| said_as_of(language, asked.range.zone(), as_of)),
        series: clicks.series,
        visitors: clicks.visitors,
    };
    let fault = asked.fault.as_ref();
    let status = fault.map_or(StatusCode::OK, |fault| fault.error.status());
    Ok(with_clicks_as_of(public_page(status, &page)?, as_of))
}
