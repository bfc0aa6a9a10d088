//! Links of a table: looked at before they are made. And all links as a table.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::documents::{ExportForm, LinkDocuments};
use super::form::Form;
use super::page::{Frame, Site, own_page, refused_page};
use super::session::SignedIn;
use crate::domain::Title;
use crate::http::{ApiError, BodyLimits, ClientAddress, QueryOf};
use crate::links::{LinkRequest, LinkService};

/// Of a form with a table: as it is encoded, a table may be three times as long.
pub(super) const LIMITS: BodyLimits = BodyLimits {
    bytes: 2 * 1024 * 1024,
    timeout: Duration::from_secs(20),
};

/// Links of one import: more go through the API or the command line.
const MAX_LINKS: usize = 1_000;

/// Lines that the page shows; those that are refused come first.
const MAX_SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    table: &'a str,
    fault: Option<String>,
    /// Whether links were made, as opposed to looked at.
    is_done: bool,
    lines: Vec<Line>,
    accepted: usize,
    refused: usize,
}

/// A line of the table.
struct Line {
    number: usize,
    code: String,
    target: String,
    title: String,
    /// Why it is refused; empty where it is not.
    refusal: String,
}

impl ImportPage<'_> {
    fn hidden(&self) -> usize {
        (self.accepted + self.refused).saturating_sub(self.lines.len())
    }
}

pub(super) async fn show(
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    page(&site, &signed_in, "", Ok((false, Vec::new())))
}

/// Looks at the links of a table, or makes them.
pub(super) async fn import(
    State(links): State<Arc<LinkService>>,
    State(documents): State<LinkDocuments>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let table = form.get("table");
    let is_wanted = form.get("action") == "make";
    let read = async {
        checked?;
        let is_blank = table.trim().is_empty();
        let read = if is_blank {
            Vec::new()
        } else {
            (documents.read)(table, &links.own_host)?
        };
        if read.is_empty() {
            return Err(ApiError::invalid("table: has no links"));
        }
        if read.len() > MAX_LINKS {
            let detail = format!("table: must have at most {MAX_LINKS} links here");
            return Err(ApiError::invalid(detail));
        }
        if !is_wanted {
            return Ok((false, shown_lines(&read)));
        }
        let owner = signed_in.principal;
        let calls = &links.bulk_calls_at_once;
        let _place = calls.begin(owner.user, client.as_str())?;
        links.begin_bulk(owner, read.len()).await?;
        let requests: Vec<_> = read.iter().filter_map(|link| link.as_ref().ok()).collect();
        let mut outcomes = links
            .shorten_many(owner, &requests, client.as_str())
            .await?
            .into_iter();
        let mut shown = shown_lines(&read);
        for line in shown.iter_mut().filter(|line| line.refusal.is_empty()) {
            match outcomes.next() {
                Some(Ok(made)) => line.code = made.code.to_string(),
                Some(Err(error)) => ApiError::from(error).detail().clone_into(&mut line.refusal),
                None => return Err(ApiError::internal("a link of many has no outcome")),
            }
        }
        Ok((true, shown))
    };
    match read.await {
        Err(error) if error.status().is_server_error() => Err(error),
        read => page(&site, &signed_in, table, read),
    }
}

fn shown_lines(read: &[Result<LinkRequest, ApiError>]) -> Vec<Line> {
    let line = |(index, link): (usize, &Result<LinkRequest, ApiError>)| {
        let request = link.as_ref().ok();
        let properties = request.map(|request| &request.properties);
        let code = request.and_then(|request| request.custom_code.as_ref());
        let title = properties.and_then(|properties| properties.title.as_ref());
        Line {
            // Spreadsheets count the header line, too.
            number: index + 2,
            code: code.map_or_else(String::new, |code| code.as_code().to_string()),
            target: properties.map_or_else(String::new, |properties| {
                properties.target.as_str().to_owned()
            }),
            title: title.map_or("", Title::as_str).to_owned(),
            refusal: link
                .as_ref()
                .err()
                .map_or_else(String::new, |error| error.detail().to_owned()),
        }
    };
    read.iter().enumerate().map(line).collect()
}

fn page(
    site: &Site,
    signed_in: &SignedIn,
    table: &str,
    read: Result<(bool, Vec<Line>), ApiError>,
) -> Result<Response, ApiError> {
    let (refusal, (is_done, mut lines)) = match read {
        Ok(read) => (None, read),
        Err(error) => (Some(error), (false, Vec::new())),
    };
    let refused = lines.iter().filter(|line| !line.refusal.is_empty()).count();
    let accepted = lines.len() - refused;
    lines.sort_by_key(|line| (line.refusal.is_empty(), line.number));
    lines.truncate(MAX_SHOWN);
    let page = ImportPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        table,
        fault: refusal.as_ref().map(|error| error.detail().to_owned()),
        is_done,
        lines,
        accepted,
        refused,
    };
    match &refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

/// The form of an export; CSV unless another one is asked for.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ExportQuery {
    format: String,
}

/// All links as a file.
pub(super) async fn export(
    State(documents): State<LinkDocuments>,
    signed_in: SignedIn,
    client: ClientAddress,
    QueryOf(query): QueryOf<ExportQuery>,
) -> Result<Response, ApiError> {
    let form = match query.format.as_str() {
        "ndjson" => ExportForm::Ndjson,
        _ => ExportForm::Csv,
    };
    (documents.export)(signed_in.principal, client, form).await
}
