//! The file of an import: which service wrote it, which fields its columns are, and its links.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use clap::ValueEnum as _;

use super::form::{Form, UNREADABLE};
use super::language::Language;
use crate::domain::LinkRequest;
use crate::http::ApiError;
use crate::http::paths::is_reserved;
use crate::import::{
    Encoding, Matched, OtherPages, Placing, ReadLink, Source, TakesLinks, columns_in, field_of,
    read_matched,
};
use crate::links::LinkService;

/// Links of one import: more links go through the API or the command line.
const MAX_LINKS: usize = 1_000;

/// The services whose files are read: the value of the field, and the name. Some names are texts.
pub(super) const SOURCES: [(&str, &str); 14] = [
    (AUTO, "import_auto"),
    ("csv", "import_table"),
    ("kutt", "Kutt"),
    ("yourls", "YOURLS"),
    ("shlink", "Shlink"),
    ("bitly", "Bitly"),
    ("chhoto", "import_chhoto"),
    ("dub", "Dub"),
    ("sink", "Sink"),
    ("shortio", "Short.io"),
    ("rebrandly", "Rebrandly"),
    ("polr", "Polr"),
    ("tinyurl", "TinyURL"),
    ("firebase", "import_firebase"),
];

/// The service is found out from the file.
pub(super) const AUTO: &str = "auto";

/// The fields that a column can be, with the names of their texts.
pub(super) const FIELDS: [(&str, &str); 17] = [
    ("target_url", "column_target_url"),
    ("custom_code", "column_custom_code"),
    ("domain", "column_domain"),
    ("title", "column_title_of_link"),
    ("tags", "column_tags"),
    ("note", "column_note"),
    ("clicks", "column_clicks"),
    ("starts_at", "column_starts_at"),
    ("expires_at", "column_expires_at"),
    ("max_clicks", "column_max_clicks"),
    ("fallback_url", "column_fallback_url"),
    ("forward_query", "column_forward_query"),
    ("noindex", "column_noindex"),
    ("password", "column_password"),
    ("rules", "column_rules"),
    ("aliases", "column_aliases"),
    ("is_active", "column_is_active"),
];

/// A column of the file.
pub(super) struct Column {
    pub(super) name: String,
    /// The field that it is; empty if it is left out.
    pub(super) field: &'static str,
    /// The field in words.
    pub(super) label: &'static str,
    /// Whether a person may choose another one.
    pub(super) is_choice: bool,
}

/// What was read of a file.
pub(super) struct ImportFile {
    /// The service that was named, or found.
    pub(super) source: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) links: Vec<(ReadLink, Result<LinkRequest, String>)>,
    pub(super) others: Option<OtherPages>,
}

/// Takes the links that one import may have, and one link more.
struct Taker<'a> {
    service: &'a LinkService,
    placing: Placing,
    links: Vec<(ReadLink, Result<LinkRequest, String>)>,
}

impl TakesLinks for Taker<'_> {
    fn take(&mut self, mut read: ReadLink) -> ControlFlow<()> {
        let service = self.service;
        let is_served = &mut |host: &str| Ok::<_, Infallible>(service.domain_named(host).is_some());
        let Ok(()) = self.placing.place(&mut read, is_served);
        let request = read.request(&service.own_host, is_reserved);
        self.links.push((read, request));
        if self.links.len() > MAX_LINKS {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The text of the file, or of the field in which one may paste it.
pub(super) fn take_text(form: &mut Form) -> String {
    let file = form.take("file");
    if file.is_empty() {
        form.take("table")
    } else {
        file
    }
}

impl ImportFile {
    /// Reads a file, with the columns as the form says.
    ///
    /// # Errors
    /// 422 if the file is invalid, or has no links or too many. The columns are known then, if it has a header line.
    pub(super) fn of(
        table: &str,
        form: &Form,
        language: Language,
        service: &LinkService,
    ) -> Result<Self, (ApiError, Vec<Column>)> {
        let mut read = Self {
            source: "csv",
            columns: Vec::new(),
            links: Vec::new(),
            others: None,
        };
        match read.fill(table, form, language, service) {
            Ok(()) => Ok(read),
            Err(error) => Err((error, read.columns)),
        }
    }

    fn fill(
        &mut self,
        table: &str,
        form: &Form,
        language: Language,
        service: &LinkService,
    ) -> Result<(), ApiError> {
        if form.has(UNREADABLE) {
            let detail = "file: some of its letters are not UTF-8; save it as UTF-8";
            return Err(ApiError::invalid(detail));
        }
        if table.trim().is_empty() {
            return Err(ApiError::invalid("table: has no links"));
        }
        let source = source_of(form.get("from"), table)?;
        let known = SOURCES
            .iter()
            .find(|(value, _)| source_named(value) == Some(source));
        self.source = known.map_or("csv", |(value, _)| value);
        let header = columns_in(table);
        if let (true, Some(header)) = (source.is_own(), &header) {
            self.columns = chosen(header, form, language);
            self.check_columns()?;
        }
        // No person has seen yet what would be left out.
        let is_unseen = form.get("action") == "make" && !form.has("match");
        let matched = self.columns.iter().filter(|_| !is_unseen);
        let matched: Vec<Matched> = matched.map(Column::matched).collect();
        let mut taker = Taker {
            service,
            placing: Placing::default(),
            links: Vec::new(),
        };
        let (bytes, format) = (table.as_bytes(), source.format());
        let ended = read_matched(bytes, Encoding::Utf8, format, &matched, &mut taker);
        self.others = ended.map_err(|broken| ApiError::invalid(format!("table: {broken}")))?;
        self.links = taker.links;
        if self.links.is_empty() {
            return Err(ApiError::invalid("table: has no links"));
        }
        if self.links.len() > MAX_LINKS {
            let detail = format!(
                "table: must have at most {MAX_LINKS} links; use shunt import for a longer file"
            );
            return Err(ApiError::invalid(detail));
        }
        if self.columns.is_empty() {
            self.columns = found(&header.unwrap_or_default(), &self.links, language);
        }
        Ok(())
    }

    /// Two columns cannot be one field.
    fn check_columns(&self) -> Result<(), ApiError> {
        for (at, column) in self.columns.iter().enumerate() {
            let mut before = self.columns[..at].iter();
            let other = before.find(|before| before.field == column.field);
            if let Some(other) = other.filter(|_| !column.field.is_empty()) {
                return Err(ApiError::invalid(format!(
                    "{}: is matched with two columns, {:?} and {:?}; choose one",
                    column.field, other.name, column.name
                )));
            }
        }
        Ok(())
    }
}

impl Column {
    fn matched(&self) -> Matched {
        (!self.field.is_empty()).then_some(self.field)
    }
}

fn source_named(value: &str) -> Option<Source> {
    Source::from_str(value, false).ok()
}

/// The service that the form names, or that the file shows; a table of other columns is one of a person's own.
fn source_of(named: &str, table: &str) -> Result<Source, ApiError> {
    match named {
        AUTO => match Source::found_in(table) {
            Some(Source::Shunt) | None => Ok(Source::Csv),
            Some(source) => Ok(source),
        },
        "" => Ok(Source::Csv),
        named => source_named(named)
            .ok_or_else(|| ApiError::invalid("from: is no service that is known here")),
    }
}

/// The columns of a table with the fields that a person chose; before that, as their names say.
fn chosen(header: &[String], form: &Form, language: Language) -> Vec<Column> {
    let mut given = form.all("match");
    let is_given = form.has("match");
    let column = |name: &String| {
        let guessed = field_of(name);
        let is_choice = guessed.is_none_or(|field| label_of(field).is_some());
        let picked = given.next().unwrap_or_default();
        let field = match guessed {
            Some(kept) if !is_choice => kept,
            _ if is_given => FIELDS
                .iter()
                .find(|(field, _)| *field == picked)
                .map_or("", |(field, _)| field),
            guessed => guessed.unwrap_or_default(),
        };
        Column {
            name: name.clone(),
            field,
            label: label_of(field).map_or_else(
                || language.text("column_kept"),
                |label| language.text(label),
            ),
            is_choice,
        }
    };
    header.iter().map(column).collect()
}

/// The columns of another service's file with the fields that they became.
fn found(
    header: &[String],
    links: &[(ReadLink, Result<LinkRequest, String>)],
    language: Language,
) -> Vec<Column> {
    let mut fields = BTreeMap::new();
    let mut names: Vec<&str> = header.iter().map(String::as_str).collect();
    for (read, _) in links {
        for (field, name) in read.named_fields() {
            if !names.contains(&name.as_str()) && names.len() < 100 {
                names.push(name);
            }
            fields.entry(name.as_str()).or_insert(*field);
        }
    }
    let column = |name: &str| {
        let field = fields.get(name).copied().unwrap_or_default();
        let label = if field.is_empty() {
            "column_unused"
        } else {
            label_of(field).unwrap_or("column_password")
        };
        Column {
            name: name.to_owned(),
            field,
            label: language.text(label),
            is_choice: false,
        }
    };
    names.into_iter().map(column).collect()
}

fn label_of(field: &str) -> Option<&'static str> {
    let mut fields = FIELDS.iter();
    let known = fields.find(|(known, _)| *known == field);
    known.map(|(_, label)| *label)
}
