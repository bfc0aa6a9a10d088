//! The statements of a link: its ended months, a statement for people to read and print, and the same as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::language::Language;
use super::page::{Frame, Site, own_page};
use super::session::SignedIn;
use crate::domain::{Month, SeriesRange, ShortCode, Timestamp, Zone, sha256_of};
use crate::http::paths::STATEMENT_KEYS;
use crate::http::{ApiError, ClientAddress, JSON, PathCode, QueryOf};
use crate::statements::{Statement, Statements};

/// The parameters of the pages; unknown parameters are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatementsQuery {
    month: String,
    tz: String,
}

/// The months of a link.
#[derive(Template)]
#[template(path = "statements.html")]
struct MonthsPage<'a> {
    frame: Frame<'a>,
    code: String,
    /// The code as people read it.
    shown: String,
    /// What is in the field of the zone, and why it is refused.
    zone: String,
    fault: &'static str,
    can_sign: bool,
    months: Vec<MonthLink>,
}

struct MonthLink {
    name: String,
    /// What its link says to people who do not see the row.
    label: String,
    path: String,
}

/// A statement.
#[derive(Template)]
#[template(path = "statement.html")]
struct StatementPage<'a> {
    frame: Frame<'a>,
    /// The pages of the link and of its months.
    back: String,
    short_url: String,
    title: String,
    zone: &'a str,
    clicks: String,
    people: Option<String>,
    days: Vec<DayRow>,
    issued: String,
    digest: String,
    previous: Option<&'a str>,
    key_id: &'a str,
    signature: &'a str,
    /// The file, its name, and the keys.
    file: String,
    file_name: String,
    keys: &'static str,
    /// What checks the file in a terminal.
    command: String,
}

struct DayRow {
    date: String,
    name: String,
    clicks: String,
    people: Option<String>,
}

/// The part of an address that names a statement.
fn address(code: &ShortCode, page: &str, month: Option<&str>, zone: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(month.map(|month| ("month", month)));
    query.append_pair("tz", zone);
    format!("/app/links/{}/{page}?{}", code.in_path(), query.finish())
}

/// The month of a zone as people read it.
fn named(language: Language, month: Month, zone: &Zone) -> String {
    let days = SeriesRange::days_of(month, zone);
    days.map_or_else(
        || month.to_string(),
        |days| language.month(days.from(), zone),
    )
}

impl StatementsQuery {
    /// The zone, or what stands in its place and why it is refused.
    fn zone(&self) -> Result<Zone, &'static str> {
        match &*self.tz {
            "" => Ok(Zone::UTC),
            tz => Zone::parse(tz).ok_or("clicks_fault_zone"),
        }
    }

    /// The month and its zone, of a link that a page made.
    fn wanted(&self) -> Result<(Month, Zone), ApiError> {
        let month = Month::parse(&self.month);
        let month = month.map_err(|error| ApiError::invalid(error.to_string()))?;
        let zone = Zone::parse(&self.tz).unwrap_or(Zone::UTC);
        Ok((month, zone))
    }
}

/// The months of which there can be a statement, and with `month` the statement.
pub(super) async fn show(
    State(statements): State<Arc<Statements>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    QueryOf(query): QueryOf<StatementsQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if !query.month.is_empty() {
        let wanted = query.wanted()?;
        return statement(&statements, &site, &signed_in, (&code, wanted), &client).await;
    }
    let (zone, fault) = match query.zone() {
        Ok(zone) => (zone, ""),
        Err(fault) => (Zone::UTC, fault),
    };
    let ended = statements.months(signed_in.principal, &code, &zone).await?;
    let ended = ended.ok_or_else(ApiError::url_not_found)?;
    let (frame, code) = (Frame::own(&site, signed_in.owner()), &ended.link.code);
    let language = frame.language;
    let months = ended.months.iter().map(|month| {
        let name = named(language, *month, &zone);
        MonthLink {
            label: language.with("statement_of", &[("month", &name)]),
            path: address(code, "statements", Some(&month.to_string()), zone.name()),
            name,
        }
    });
    let page = MonthsPage {
        code: code.in_path().into_owned(),
        shown: site.shown_code(code),
        zone: match fault {
            "" => zone.name().to_owned(),
            _ => query.tz.clone(),
        },
        fault: language.text(fault),
        can_sign: statements.can_sign(),
        months: months.collect(),
        frame,
    };
    let status = match fault {
        "" => StatusCode::OK,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    own_page(status, &page)
}

async fn statement(
    statements: &Statements,
    site: &Site,
    signed_in: &SignedIn,
    (code, (month, zone)): (&ShortCode, (Month, Zone)),
    client: &ClientAddress,
) -> Result<Response, ApiError> {
    let owner = signed_in.principal;
    let document = statements.of_month(owner, code, (month, &zone), client.as_str());
    let document = document.await?.ok_or_else(ApiError::url_not_found)?;
    let read: Result<Statement, _> = serde_json::from_str(&document);
    let read = read.map_err(|error| ApiError::internal(&error.to_string()))?;
    let frame = Frame::own(site, signed_in.owner());
    let language = frame.language;
    let number = |people: Option<u64>| people.map(|people| language.number(people));
    let days = read.days.iter().map(|day| DayRow {
        name: shown_date(language, &day.date),
        date: day.date.clone(),
        clicks: language.number(day.clicks),
        people: number(day.people),
    });
    let name = named(language, month, &zone);
    let issued: Result<Timestamp, _> = read.issued_at.parse();
    let file_name = file_name(code, month);
    let page = StatementPage {
        back: address(code, "statements", None, &read.tz),
        short_url: site.short_url(code),
        title: language.with("statement_of", &[("month", &name)]),
        zone: &read.tz,
        clicks: language.number(read.clicks),
        people: number(read.people),
        days: days.collect(),
        issued: issued.map_or_else(|_| read.issued_at.clone(), |at| language.minute(at)),
        digest: sha256_of(&document),
        previous: read.previous.as_deref(),
        key_id: &read.key_id,
        signature: &read.signature,
        file: address(code, "statement", Some(&read.month), &read.tz),
        command: format!("shunt verify {file_name} --keys shunt-keys.json"),
        file_name,
        keys: STATEMENT_KEYS,
        frame,
    };
    own_page(StatusCode::OK, &page)
}

/// A date as people read it.
fn shown_date(language: Language, date: &str) -> String {
    let midnight: Result<Timestamp, _> = format!("{date}T00:00:00Z").parse();
    midnight.map_or_else(|_| date.to_owned(), |at| language.date(at, &Zone::UTC))
}

/// The name of the file of a statement.
fn file_name(code: &ShortCode, month: Month) -> String {
    format!("{}-{month}.json", code.as_str())
}

/// The statement as a file.
pub(super) async fn download(
    State(statements): State<Arc<Statements>>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    QueryOf(query): QueryOf<StatementsQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let (month, zone) = query.wanted()?;
    let owner = signed_in.principal;
    let document = statements.of_month(owner, &code, (month, &zone), client.as_str());
    let document = document.await?.ok_or_else(ApiError::url_not_found)?;
    let name = file_name(&code, month);
    let name = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let name = name.unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (CONTENT_TYPE, JSON),
        (CONTENT_DISPOSITION, name),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, document).into_response())
}
