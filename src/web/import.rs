//! Links of a file, of this service or of another: previewed before they are created. And all links as a file.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::documents::{ExportForm, LinkDocuments};
use super::form::Form;
use super::import_file::{AUTO, Column, FIELDS, ImportFile, SOURCES, take_text};
use super::language::Language;
use super::page::{Frame, Site, own_page, refused_page};
use super::session::SignedIn;
use crate::domain::{LinkRequest, ShortCode};
use crate::http::{ApiError, BodyLimits, ClientAddress, QueryOf};
use crate::import::{ImportedLink, Note, OtherPages, ReadLink};
use crate::links::{BulkLink, LinkError, LinkService};

/// Of a form with a file.
pub(super) const LIMITS: BodyLimits = BodyLimits {
    bytes: 2 * 1024 * 1024,
    timeout: Duration::from_secs(20),
};

/// What faults of a whole file or row begin with, as opposed to the name of a column.
const NO_COLUMNS: [&str; 4] = ["file", "from", "row", "table"];

/// Lines that the page shows; refused lines come first.
const MAX_SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    table: &'a str,
    from: &'a str,
    /// The service that was found out.
    found: Option<&'static str>,
    columns: Vec<Column>,
    fault: Option<String>,
    /// Whether links were made, as opposed to looked at.
    is_done: bool,
    lines: Vec<Line>,
    accepted: usize,
    refused: usize,
    /// Links that the account had before.
    there: usize,
    /// Lines that are not shown.
    hidden: usize,
    others: Option<OtherPages>,
}

/// A link of the file.
struct Line {
    number: u64,
    code: String,
    /// The code in the path of its page; empty if there is no such page yet.
    page: String,
    target: String,
    title: String,
    /// Why it is refused; empty if it is not.
    refusal: String,
    /// Whether the account had the link before.
    was_there: bool,
    /// What is left behind of it.
    notes: Vec<String>,
}

/// What the page says of a file.
#[derive(Default)]
struct Outcome {
    is_done: bool,
    source: &'static str,
    columns: Vec<Column>,
    lines: Vec<Line>,
    others: Option<OtherPages>,
}

impl ImportPage<'_> {
    /// The services, each with its name.
    fn sources(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let language = self.frame.language;
        SOURCES.iter().map(move |(value, name)| match *value {
            value if name.starts_with("import_") => (value, language.text(name)),
            value => (value, *name),
        })
    }

    fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let language = self.frame.language;
        FIELDS
            .iter()
            .map(move |(field, label)| (*field, language.text(label)))
    }

    /// A number of links in a sentence.
    fn count(&self, name: &str, n: usize) -> String {
        self.frame
            .language
            .count(name, u64::try_from(n).unwrap_or(u64::MAX))
    }

    /// Which service was found out.
    fn found_text(&self) -> Option<String> {
        let found = self.found?;
        let (_, name) = self.sources().find(|(value, _)| *value == found)?;
        Some(self.frame.language.with("import_found", &[("name", name)]))
    }

    fn match_label(&self, column: &Column) -> String {
        let values = [("column", column.name.as_str())];
        self.frame.language.with("import_match", &values)
    }

    /// Whether the columns are chosen by a person.
    fn has_choices(&self) -> bool {
        self.columns.iter().any(|column| column.is_choice)
    }

    /// A refusal in the person's language, after the column that it is about.
    fn fault_text(&self, said: &str) -> String {
        let language = self.frame.language;
        let text = language.fault(said);
        match said.split_once(": ") {
            Some((column, _)) if text != said && !NO_COLUMNS.contains(&column) => {
                format!("{column}: {text}")
            }
            _ => text,
        }
    }

    fn others_text(&self) -> Option<String> {
        let language = self.frame.language;
        Some(match self.others? {
            OtherPages::Links(more) => language.count("import_more_pages", more),
            OtherPages::Some => language.text("import_some_pages").to_owned(),
        })
    }
}

pub(super) async fn show(
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    page(&site, &signed_in, ("", AUTO), Ok(Outcome::default()))
}

/// Looks at the links of a file, or makes them.
pub(super) async fn import(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    mut form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let table = take_text(&mut form);
    let read = async {
        checked.map_err(|error| (error, Vec::new()))?;
        let language = signed_in.owner().language;
        let mut read = ImportFile::of(&table, &form, language, &links)?;
        let is_wanted = form.get("action") == "make";
        let came = outcomes(&links, &site, &signed_in, &client, &read, is_wanted);
        match came.await {
            Err(error) => Err((error, read.columns)),
            Ok(rows) => Ok(Outcome {
                is_done: is_wanted,
                source: read.source,
                columns: std::mem::take(&mut read.columns),
                lines: rows,
                others: read.others,
            }),
        }
    };
    match read.await {
        Err((error, _)) if error.is_failure() => Err(error),
        read => page(&site, &signed_in, (&table, form.get("from")), read),
    }
}

/// Each link of the file with what became of it, or would.
async fn outcomes(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    client: &ClientAddress,
    read: &ImportFile,
    is_wanted: bool,
) -> Result<Vec<Line>, ApiError> {
    let (owner, address) = (signed_in.principal, client.as_str());
    let calls = &links.bulk_calls_at_once;
    let _place = calls.begin(owner.user, address)?;
    links.begin_bulk(owner, read.links.len(), is_wanted).await?;
    let requests = read.links.iter().filter_map(|(_, link)| link.as_ref().ok());
    let requests: Vec<_> = requests.collect();
    let outcomes: Vec<Result<Option<ShortCode>, LinkError>> = if is_wanted {
        let made = links.shorten_many(owner, &requests, address).await?;
        let code = |made: BulkLink| Some(made.code.clone());
        made.into_iter().map(|link| link.map(code)).collect()
    } else {
        let checked = links.check_many(owner, &requests).await?;
        let none = |link: Result<(), LinkError>| link.map(|()| None);
        checked.into_iter().map(none).collect()
    };
    let language = signed_in.owner().language;
    let shown = read.links.iter().map(|link| line_of(link, language));
    let mut shown: Vec<Line> = shown.collect();
    let mut outcomes = outcomes.into_iter();
    let mut looked_up = 0;
    for (line, (read, _)) in shown.iter_mut().zip(&read.links) {
        if !line.refusal.is_empty() {
            continue;
        }
        let of_file = match outcomes.next() {
            Some(Ok(Some(code))) => {
                line.is_at(site, &code);
                continue;
            }
            Some(Ok(None)) => continue,
            Some(Err(error)) => error,
            None => return Err(ApiError::internal("a link of many has no outcome")),
        };
        if matches!(of_file, LinkError::CodeTaken) && looked_up < MAX_SHOWN {
            looked_up += 1;
            if let Some(code) = own_code(links, signed_in, &read.link).await? {
                line.was_there = true;
                line.is_at(site, &code);
                continue;
            }
        }
        line.refusal = read.in_words_of_file(ApiError::from(of_file).detail());
    }
    Ok(shown)
}

/// The code of the account's own link that has the code and the target of a link of the file.
async fn own_code(
    links: &LinkService,
    signed_in: &SignedIn,
    link: &ImportedLink,
) -> Result<Option<ShortCode>, ApiError> {
    let Some(code) = link.code().and_then(ShortCode::parse) else {
        return Ok(None);
    };
    let domain = link.domain().and_then(|host| links.domain_named(host));
    let code = domain.map_or_else(|| code.clone(), |domain| code.clone().at(domain));
    let found = links.store.link_of(signed_in.principal, &code).await?;
    let same = found.filter(|found| found.value.properties.target.as_str() == link.target());
    Ok(same.map(|found| found.value.code))
}

impl Line {
    /// There is a link of the account with this code.
    fn is_at(&mut self, site: &Site, code: &ShortCode) {
        self.code = site.shown_code(code);
        self.page = code.in_path().into_owned();
    }
}

/// The code of a link, with its host if that is not the service's own.
fn shown_code(link: &ImportedLink) -> String {
    let code = link.code().unwrap_or_default();
    match link.domain() {
        Some(host) => format!("{host}/{code}"),
        None => code.to_owned(),
    }
}

/// What is left behind of a link, in words.
fn left_behind(language: Language, (note, value): &(Note, String)) -> String {
    let text = match note {
        Note::RedirectRules => language.text("left_rules"),
        Note::SecondCode => language.text("left_second_code"),
        Note::OtherHost => language.text("left_other_host"),
        Note::UnnamedHost => language.text("left_unnamed_host"),
        Note::TitleCut => language.text("left_title"),
        Note::TagCut => language.text("left_tag_cut"),
        Note::TagLeftOut => language.text("left_tag"),
    };
    match value.as_str() {
        "" => text.to_owned(),
        value => format!("{text}: {value}"),
    }
}

fn line_of((read, request): &(ReadLink, Result<LinkRequest, String>), language: Language) -> Line {
    let link = &read.link;
    Line {
        number: read.line,
        code: shown_code(link),
        page: String::new(),
        target: link.target().to_owned(),
        title: link.title().unwrap_or_default().to_owned(),
        refusal: request.as_ref().err().cloned().unwrap_or_default(),
        was_there: false,
        notes: (link.notes.iter())
            .map(|note| left_behind(language, note))
            .collect(),
    }
}

fn page(
    site: &Site,
    signed_in: &SignedIn,
    (table, from): (&str, &str),
    read: Result<Outcome, (ApiError, Vec<Column>)>,
) -> Result<Response, ApiError> {
    let (refusal, outcome) = match read {
        Ok(read) => (None, read),
        Err((error, columns)) => {
            let outcome = Outcome {
                columns,
                ..Outcome::default()
            };
            (Some(error), outcome)
        }
    };
    let mut lines = outcome.lines;
    let refused = lines.iter().filter(|line| !line.refusal.is_empty()).count();
    let new = |line: &&Line| line.refusal.is_empty() && !line.was_there;
    let accepted = lines.iter().filter(new).count();
    let there = lines.len() - refused - accepted;
    lines.sort_by_key(|line| (line.refusal.is_empty(), line.number));
    let total = lines.len();
    lines.truncate(MAX_SHOWN);
    let is_found = from == AUTO && refusal.is_none() && total > 0;
    let found = SOURCES.iter().find(|(value, _)| *value == outcome.source);
    let page = ImportPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        table,
        from,
        found: found.map(|(value, _)| *value).filter(|_| is_found),
        columns: outcome.columns,
        fault: refusal.as_ref().map(|error| error.detail().to_owned()),
        is_done: outcome.is_done,
        hidden: total - lines.len(),
        lines,
        accepted,
        refused,
        there,
        others: outcome.others,
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
