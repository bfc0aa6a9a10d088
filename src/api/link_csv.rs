//! Links as lines of CSV, written and read.
//!
//! A spreadsheet takes a cell that begins with one of a few characters for a formula. Such cells are written with an
//! apostrophe before them, which spreadsheets do not show, and read without it. A cell that has such an apostrophe of its
//! own gets a second one.

use csv::{ByteRecord, ReaderBuilder, Terminator, WriterBuilder};

use super::link_fields::{Fields, flag, invalid, max_clicks};
use super::link_json::clicks;
use crate::domain::{OwnHost, Tags, Timestamp, Title};
use crate::http::{ApiError, harmless_cell, unknown_name, value_of_cell};
use crate::links::{LinkRequest, ListedLink};

/// The columns of an export, in their order.
const EXPORTED: [&str; 14] = [
    "id",
    "short_code",
    "short_url",
    "target_url",
    "title",
    "tags",
    "clicks",
    "is_active",
    "status",
    "created_at",
    "updated_at",
    "expires_at",
    "max_clicks",
    "forward_query",
];

/// The one column that is read and not exported.
const CUSTOM_CODE: &str = "custom_code";

/// Columns of an export that the service itself sets.
const READ_OVER: [&str; 4] = ["id", "short_url", "status", "updated_at"];

/// The header line of an export.
pub(super) fn header() -> Vec<u8> {
    let mut line = EXPORTED.join(",").into_bytes();
    line.extend_from_slice(b"\r\n");
    line
}

/// Adds a line of an export.
pub(super) fn write(
    listed: &ListedLink<'_>,
    short_url: &str,
    out: &mut Vec<u8>,
) -> Result<(), csv::Error> {
    let (link, properties) = (listed.link, &listed.link.properties);
    let title = properties.title.as_ref().map_or("", Title::as_str);
    let end = properties.expires_at.as_ref().map(Timestamp::to_string);
    let max = properties.max_clicks.map(|max| max.number().to_string());
    let cells = [
        link.id.number().to_string(),
        harmless_cell(link.code.as_str()),
        short_url.to_owned(),
        harmless_cell(properties.target.as_str()),
        harmless_cell(title),
        harmless_cell(&properties.tags.to_string()),
        listed.clicks.to_string(),
        properties.is_active.to_string(),
        listed.status.as_str().to_owned(),
        link.created_at.with_micros(),
        link.updated_at.with_micros(),
        end.unwrap_or_default(),
        max.unwrap_or_default(),
        properties.forward_query.to_string(),
    ];
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    writer.write_record(cells)?;
    Ok(writer.flush()?)
}

/// Lines of CSV that are read.
pub(super) struct Lines<'a> {
    reader: csv::Reader<&'a [u8]>,
    columns: Vec<String>,
    record: ByteRecord,
}

impl<'a> Lines<'a> {
    /// Reads the header line.
    pub(super) fn of(body: &'a [u8]) -> Result<Self, ApiError> {
        let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
        let mut reader = ReaderBuilder::new().flexible(true).from_reader(body);
        let header = reader.headers();
        let header =
            header.map_err(|_| ApiError::invalid("body: the header line must be UTF-8"))?;
        let columns: Vec<_> = header.iter().map(|name| name.trim().to_owned()).collect();
        let known = || EXPORTED.into_iter().chain([CUSTOM_CODE]);
        for (place, column) in columns.iter().enumerate() {
            if !known().any(|name| name == column) {
                return Err(ApiError::invalid(unknown_name(column, known(), &columns)));
            }
            if columns[..place].contains(column) {
                return Err(ApiError::invalid(format!("{column}: must be one column")));
            }
        }
        if !columns.iter().any(|name| name == "target_url") {
            return Err(ApiError::invalid("target_url: column is required"));
        }
        Ok(Self {
            reader,
            columns,
            record: ByteRecord::new(),
        })
    }

    /// How many lines follow the header, at most `max`.
    pub(super) fn count(body: &'a [u8], max: usize) -> Result<usize, ApiError> {
        let mut lines = Self::of(body)?;
        let mut count = 0;
        while count < max && lines.read()? {
            count += 1;
        }
        Ok(count)
    }

    fn read(&mut self) -> Result<bool, ApiError> {
        let read = self.reader.read_byte_record(&mut self.record);
        read.map_err(|error| ApiError::invalid(format!("body: is no CSV: {error}")))
    }

    /// The link of the next line; `None` at the end.
    pub(super) fn read_next(
        &mut self,
        own_host: &OwnHost,
    ) -> Option<Result<LinkRequest, ApiError>> {
        match self.read() {
            Ok(true) => Some(self.parse(own_host)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn parse(&self, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
        if self.record.len() != self.columns.len() {
            let (cells, columns) = (self.record.len(), self.columns.len());
            let detail = format!("line: has {cells} cells, and the header line has {columns}");
            return Err(ApiError::invalid(detail));
        }
        let mut fields = Fields::default();
        let mut own_code = None;
        for (column, cell) in self.columns.iter().zip(&self.record) {
            let Ok(cell) = std::str::from_utf8(cell) else {
                return Err(ApiError::invalid(format!("{column}: must be UTF-8")));
            };
            let value = value_of_cell(cell);
            if value.is_empty() || READ_OVER.contains(&column.as_str()) {
                continue;
            }
            match column.as_str() {
                "target_url" => fields.target = value,
                CUSTOM_CODE => fields.custom_code = Some(value),
                "short_code" => own_code = Some(value),
                "title" => fields.title = Some(value),
                "tags" => fields.tags = Some(Tags::parse_list(value).map_err(invalid)?),
                "clicks" => fields.clicks = clicks(value.parse().ok())?,
                "is_active" => fields.is_active = Some(truth(column, value)?),
                "created_at" => fields.may_have_ended = true,
                "expires_at" => fields.expires_at = Some(value),
                "max_clicks" => fields.max_clicks = Some(max_clicks(value).map_err(invalid)?),
                _ => fields.forward_query = Some(truth(column, value)?),
            }
        }
        fields.custom_code = fields.custom_code.or(own_code);
        if fields.target.is_empty() {
            return Err(ApiError::invalid("target_url: cell must not be empty"));
        }
        fields.parse(own_host)
    }
}

/// `true` or `false`, also in the capitals of spreadsheets.
fn truth(column: &str, value: &str) -> Result<bool, ApiError> {
    flag(column, &value.to_ascii_lowercase())
}
