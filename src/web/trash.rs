//! The bin: links that were deleted, and can be restored.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::every_link::restore_every;
use super::form::Form;
use super::language::Language;
use super::link_list::{ListQuery, PER_PAGE};
use super::page::{Frame, Site, own_page_as_of, see_other};
use super::questions::{Question, asked};
use super::selected_links::{self, PARTLY, check_number};
use super::session::SignedIn;
use crate::domain::{LinkOrder, Title, Zone};
use crate::http::paths::parse_placed_code;
use crate::http::{ApiError, ClientAddress, PathCode, QueryOf, cursor, parse_cursor};
use crate::links::{LinkService, Trashed};

/// The parameters of the page; unknown parameters are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TrashQuery {
    cursor: String,
    /// What was done just now, said above the list.
    done: String,
}

#[derive(Template)]
#[template(path = "trash.html")]
struct TrashPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    query: &'a TrashQuery,
    rows: Vec<Row>,
    next: Option<String>,
    days: u32,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
}

struct Row {
    /// As in paths.
    code: String,
    /// As people see it.
    shown: String,
    title: String,
    target: String,
    clicks: String,
    /// When it was deleted, and when it will be gone.
    dates: String,
    /// What its buttons do.
    restore: String,
    delete: String,
}

impl Row {
    fn of(trashed: &Trashed, site: &Site, language: Language) -> Self {
        let (link, clicks) = (&trashed.counted.link, trashed.counted.clicks);
        let title = link.properties.title.as_ref();
        let shown = site.shown_code(&link.code);
        let code = [("code", shown.as_str())];
        let utc = |moment| format!("{} UTC", language.moment(moment, &Zone::UTC));
        let (at, end) = (utc(trashed.deleted_at), utc(trashed.ends_at));
        Self {
            code: link.code.in_path().into_owned(),
            title: title.map(Title::as_str).unwrap_or_default().to_owned(),
            target: link.properties.target.as_str().to_owned(),
            clicks: language.count("clicks", clicks),
            dates: language.with("trash_dates", &[("at", &at), ("end", &end)]),
            restore: language.with("trash_restore_named", &code),
            delete: language.with("trash_delete_named", &code),
            shown,
        }
    }
}

impl TrashPage<'_> {
    /// How long links are kept.
    fn kept(&self) -> String {
        let language = self.frame.language;
        match self.days {
            0 => language.text("trash_off").to_owned(),
            days => {
                let days = language.count("tools_days", days.into());
                language.with("trash_kept", &[("days", &days)])
            }
        }
    }

    fn done(&self) -> &'static str {
        let language = self.frame.language;
        match self.query.done.as_str() {
            "restored" => language.text("trash_restored"),
            "ended" => language.text("trash_ended"),
            PARTLY => language.text("trash_partly"),
            "none" => language.text("trash_none"),
            _ => "",
        }
    }
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<TrashQuery>,
) -> Result<Response, ApiError> {
    let after = Some(query.cursor.as_str()).filter(|raw| !raw.is_empty());
    let after = after.map(|raw| parse_cursor(LinkOrder::Newest, raw));
    let after = after.transpose()?;
    let page = links.trash(signed_in.principal, after, PER_PAGE).await?;
    let next = page.next.map(|next| cursor(LinkOrder::Newest, next));
    let shown = TrashPage {
        frame: Frame::own(&site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        query: &query,
        rows: (page.links())
            .map(|trashed| Row::of(&trashed, &site, signed_in.owner().language))
            .collect(),
        next: next.map(|cursor| format!("/app/trash?cursor={cursor}")),
        days: links.trash_days,
        as_of: page
            .as_of
            .map(|moment| signed_in.owner().language.minute(moment)),
    };
    own_page_as_of(StatusCode::OK, &shown, page.as_of)
}

/// Restores the links of the form, and returns to the list that it names, or to the bin.
pub(super) async fn restore(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let address = client.as_str();
    if form.has("since") {
        return restore_every(&links, &signed_in, &form, address).await;
    }
    let codes: Vec<_> = form.all("code").filter_map(parse_placed_code).collect();
    check_number(codes.len())?;
    let owner = signed_in.principal;
    let (restored, failure) = selected_links::restore(&links, owner, &codes, address).await;
    let done = match failure {
        Some(error) if restored == 0 => return Err(error.into()),
        Some(_) => PARTLY,
        None if restored == 0 => "none",
        None => "restored",
    };
    Ok(see_other(&match form.all("place").next() {
        Some(place) if done == "restored" => ListQuery::at(place).path(done),
        _ => format!("/app/trash?done={done}"),
    }))
}

/// Asks whether a link is to be deleted for good.
pub(super) async fn ask_to_end(
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let language = signed_in.owner().language;
    let question = Question {
        title: language.with("trash_question", &[("code", &site.shown_code(&code))]),
        text: language.text("trash_what").to_owned(),
        action: format!("/app/trash/{}/delete", code.in_path()),
        yes: language.text("trash_delete"),
        no: language.text("tools_cancel"),
        back: "/app/trash".to_owned(),
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn end(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let is_ended = links.end_trashed(signed_in.principal, &code).await?;
    let done = if is_ended { "ended" } else { "none" };
    Ok(see_other(&format!("/app/trash?done={done}")))
}
