//! Links of a file, of this service or of another: previewed before they are created. And all links as a file.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use clap::ValueEnum as _;
use serde::Deserialize;

use super::documents::{ExportForm, LinkDocuments};
use super::form::Form;
use super::page::{Frame, Site, own_page, refused_page};
use super::session::SignedIn;
use crate::domain::{LinkRequest, ShortCode};
use crate::http::paths::is_reserved;
use crate::http::{ApiError, BodyLimits, ClientAddress, QueryOf};
use crate::import::{Encoding, Note, OtherPages, ReadLink, Source, TakesLinks, read_file};
use crate::links::{BulkLink, LinkService};

/// Of a form with a table: as it is encoded, a table may be three times as long.
pub(super) const LIMITS: BodyLimits = BodyLimits {
    bytes: 2 * 1024 * 1024,
    timeout: Duration::from_secs(20),
};

/// Links of one import: more links go through the API or the command line.
const MAX_LINKS: usize = 1_000;

/// Lines that the page shows; refused lines come first.
const MAX_SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    table: &'a str,
    sources: [(&'static str, &'static str); 13],
    from: &'a str,
    fault: Option<String>,
    /// Whether links were made, as opposed to looked at.
    is_done: bool,
    lines: Vec<Line>,
    accepted: usize,
    refused: usize,
    others: Option<OtherPages>,
}

/// The services whose files are read: the value of the field, and the name.
const SOURCES: [(&str, &str); 13] = [
    ("csv", "A table or an export of shunt"),
    ("kutt", "Kutt"),
    ("yourls", "YOURLS"),
    ("shlink", "Shlink"),
    ("bitly", "Bitly"),
    ("chhoto", "Chhoto URL"),
    ("dub", "Dub"),
    ("sink", "Sink"),
    ("shortio", "Short.io"),
    ("rebrandly", "Rebrandly"),
    ("polr", "Polr"),
    ("tinyurl", "TinyURL"),
    ("firebase", "Firebase Dynamic Links"),
];

/// A link of the file.
struct Line {
    number: u64,
    code: String,
    /// The code in the path of its page.
    page: String,
    target: String,
    title: String,
    /// Why it is refused; empty if it is not.
    refusal: String,
    /// What is left behind of it.
    notes: Vec<String>,
}

/// The links of a file, and what its service has on other pages.
#[derive(Default)]
struct ReadTable {
    links: Vec<(ReadLink, Result<LinkRequest, String>)>,
    others: Option<OtherPages>,
}

/// Takes the links that one import may have, and one link more.
struct Taker<'a> {
    service: &'a LinkService,
    links: Vec<(ReadLink, Result<LinkRequest, String>)>,
}

impl TakesLinks for Taker<'_> {
    fn take(&mut self, read: ReadLink) -> ControlFlow<()> {
        let request = read.request(&self.service.own_host, is_reserved);
        self.links.push((read, request));
        if self.links.len() > MAX_LINKS {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl ReadTable {
    /// # Errors
    /// 422 if the file is invalid, or has no links or too many.
    fn of(table: &str, from: &str, service: &LinkService) -> Result<Self, ApiError> {
        let source = if from.is_empty() { "csv" } else { from };
        let source = Source::from_str(source, false);
        let source = source.map_err(|_| ApiError::invalid("from: is not known here"))?;
        let mut taker = Taker {
            service,
            links: Vec::new(),
        };
        let mut others = None;
        if !table.trim().is_empty() {
            let read = read_file(
                table.as_bytes(),
                Encoding::Utf8,
                source.format(),
                &mut taker,
            );
            others = read.map_err(|broken| ApiError::invalid(format!("table: {broken}")))?;
        }
        let links = taker.links;
        if links.is_empty() {
            return Err(ApiError::invalid("table: has no links"));
        }
        if links.len() > MAX_LINKS {
            let detail = format!(
                "table: must have at most {MAX_LINKS} links; use shunt import for a longer file"
            );
            return Err(ApiError::invalid(detail));
        }
        Ok(Self { links, others })
    }
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
    page(
        &site,
        &signed_in,
        ("", "csv"),
        Ok((false, Vec::new(), None)),
    )
}

/// Looks at the links of a file, or makes them.
pub(super) async fn import(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let (table, from) = (form.get("table"), form.get("from"));
    let is_wanted = form.get("action") == "make";
    let read = async {
        checked?;
        let read = ReadTable::of(table, from, &links)?;
        let (owner, address) = (signed_in.principal, client.as_str());
        let calls = &links.bulk_calls_at_once;
        let _place = calls.begin(owner.user, address)?;
        links.begin_bulk(owner, read.links.len(), is_wanted).await?;
        let requests = read.links.iter().filter_map(|(_, link)| link.as_ref().ok());
        let requests: Vec<_> = requests.collect();
        let outcomes = if is_wanted {
            let made = links.shorten_many(owner, &requests, address).await?;
            let code = |made: BulkLink| Some(made.code.in_path().into_owned());
            made.into_iter()
                .map(|link| link.map(code))
                .collect::<Vec<_>>()
        } else {
            let checked = links.check_many(owner, &requests).await?;
            checked
                .into_iter()
                .map(|link| link.map(|()| None))
                .collect()
        };
        let mut shown = shown_lines(&read.links);
        let mut outcomes = outcomes.into_iter();
        for (line, (link, _)) in shown.iter_mut().zip(&read.links) {
            if !line.refusal.is_empty() {
                continue;
            }
            match outcomes.next() {
                Some(Ok(Some(code))) => {
                    ShortCode::split_path(&code).1.clone_into(&mut line.code);
                    line.page = code;
                }
                Some(Ok(None)) => {}
                Some(Err(error)) => {
                    line.refusal = link.in_words_of_file(ApiError::from(error).detail());
                }
                None => return Err(ApiError::internal("a link of many has no outcome")),
            }
        }
        Ok((is_wanted, shown, read.others))
    };
    match read.await {
        Err(error) if error.is_failure() => Err(error),
        read => page(&site, &signed_in, (table, from), read),
    }
}

fn shown_lines(read: &[(ReadLink, Result<LinkRequest, String>)]) -> Vec<Line> {
    let line = |(read, request): &(ReadLink, Result<LinkRequest, String>)| {
        let link = &read.link;
        let note = |(note, value): &(Note, String)| match value.as_str() {
            "" => note.about_value().to_owned(),
            value => format!("{}: {value}", note.about_value()),
        };
        Line {
            number: read.line,
            code: link.code().unwrap_or_default().to_owned(),
            page: String::new(),
            target: link.target().to_owned(),
            title: link.title().unwrap_or_default().to_owned(),
            refusal: request.as_ref().err().cloned().unwrap_or_default(),
            notes: link.notes.iter().map(note).collect(),
        }
    };
    read.iter().map(line).collect()
}

fn page(
    site: &Site,
    signed_in: &SignedIn,
    (table, from): (&str, &str),
    read: Result<(bool, Vec<Line>, Option<OtherPages>), ApiError>,
) -> Result<Response, ApiError> {
    let (refusal, (is_done, mut lines, others)) = match read {
        Ok(read) => (None, read),
        Err(error) => (Some(error), (false, Vec::new(), None)),
    };
    let refused = lines.iter().filter(|line| !line.refusal.is_empty()).count();
    let accepted = lines.len() - refused;
    lines.sort_by_key(|line| (line.refusal.is_empty(), line.number));
    lines.truncate(MAX_SHOWN);
    let page = ImportPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        table,
        sources: SOURCES,
        from,
        fault: refusal.as_ref().map(|error| error.detail().to_owned()),
        is_done,
        lines,
        accepted,
        refused,
        others,
    };
    match &refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

/// The format of an export; CSV by default.
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
