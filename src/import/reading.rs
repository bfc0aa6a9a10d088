//! Turns an entry into a link, says what is wrong with it, and keeps its cells for the list of refused links.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::link::ImportedLink;
use super::place::Place;
use super::record::{Cell, Record};
use crate::domain::{
    CustomCode, FieldEdit, LinkRequest, MaxClicks, OwnHost, StartingClicks, Timestamp,
};
use crate::wire::{DocumentKind, LinkFields, RulesJson, SecretText, Value};

/// Microseconds of the units in which other services have moments.
pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_MILLISECOND: i64 = 1_000;

/// An entry as a link.
#[derive(Debug)]
pub struct ReadLink {
    /// The line in which the entry begins.
    pub line: u64,
    /// The link, as far as it can be read.
    pub link: ImportedLink,
    /// Why it is not a link, if it is not.
    pub fault: Option<String>,
    /// Whether it may have ended already: another service had it, or an export says when it was created.
    pub may_have_ended: bool,
    /// The host of the other service that moves to the service's own host, if the link was there.
    pub moved_from: Option<String>,
    /// Why it can be at no host here, if that is so.
    pub(super) misplaced: Option<String>,
    /// The host that the file says.
    pub(super) place: Place,
    /// Further codes that it has at the other service, with their short URLs.
    pub(super) other_urls: Vec<(String, String)>,
    /// Cells as the file has them, by the columns of a list of refused links.
    pub(super) raw: BTreeMap<&'static str, Vec<u8>>,
    /// Cells past the last column of the file.
    pub(super) extra: Vec<Vec<u8>>,
    /// The file's names of fields.
    names: Vec<(&'static str, String)>,
}

/// Takes links in the order of the file.
pub trait TakesLinks {
    /// Takes the next link, or ends the reading.
    fn take(&mut self, link: ReadLink) -> ControlFlow<()>;
}

/// A link that is being read.
pub(super) struct Reading<'a> {
    pub(super) record: &'a Record,
    pub(super) link: ImportedLink,
    /// The host of the link, as far as the file says it.
    pub(super) place: Place,
    pub(super) other_urls: Vec<(String, String)>,
    is_own: bool,
    was_created: bool,
    fault: Option<String>,
    raw: BTreeMap<&'static str, Vec<u8>>,
    names: Vec<(&'static str, String)>,
}

impl ReadLink {
    /// What the owner of the file asks for with the link.
    ///
    /// # Errors
    /// Why that is refused: a sentence with the names of the file.
    pub fn request(
        &self,
        own_host: &OwnHost,
        is_reserved: fn(&str) -> bool,
    ) -> Result<LinkRequest, String> {
        self.request_of(self.link.fields.clone(), own_host, is_reserved)
    }

    /// Why the link is refused, whatever its code.
    #[must_use]
    pub fn refusal(&self, own_host: &OwnHost) -> Option<String> {
        let fields = LinkFields {
            custom_code: FieldEdit::Keep,
            ..self.link.fields.clone()
        };
        self.request_of(fields, own_host, |_| false).err()
    }

    /// Why the code of the link cannot be used here.
    #[must_use]
    pub fn refusal_of_code(&self, is_reserved: fn(&str) -> bool) -> Option<String> {
        let refused = CustomCode::parse(self.link.code()?, is_reserved).err()?;
        Some(self.in_words_of_file(&refused.to_string()))
    }

    fn request_of(
        &self,
        fields: LinkFields,
        own_host: &OwnHost,
        is_reserved: fn(&str) -> bool,
    ) -> Result<LinkRequest, String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let request = fields.request(own_host, is_reserved);
        let request = request.map_err(|why| self.in_words_of_file(&why))?;
        self.misplaced.clone().map_or(Ok(()), Err)?;
        Ok(LinkRequest {
            may_have_ended: self.may_have_ended,
            ..request
        })
    }

    /// The fields that were read, each with the name that the file has for it.
    #[must_use]
    pub fn named_fields(&self) -> &[(&'static str, String)] {
        &self.names
    }

    /// A sentence that begins with the name of a field, with the name that the file has for it.
    #[must_use]
    pub fn in_words_of_file(&self, sentence: &str) -> String {
        let named = self.names.iter().find_map(|(field, name)| {
            let rest = sentence.strip_prefix(field)?;
            rest.starts_with(':').then(|| format!("{name}{rest}"))
        });
        named.unwrap_or_else(|| sentence.to_owned())
    }
}

impl<'a> Reading<'a> {
    /// Of an entry whose values these are, and which cannot be read as a whole for this reason.
    pub(super) fn new(record: &'a Record, fault: Option<String>, is_own: bool) -> Self {
        Self {
            record,
            link: ImportedLink::default(),
            place: Place::Own,
            other_urls: Vec::new(),
            is_own,
            was_created: false,
            fault,
            raw: BTreeMap::new(),
            names: Vec::new(),
        }
    }

    /// What was read.
    pub(super) fn end(self, line: u64, extra: Vec<Vec<u8>>) -> ReadLink {
        ReadLink {
            line,
            link: self.link,
            fault: self.fault,
            may_have_ended: self.was_created || !self.is_own,
            moved_from: None,
            misplaced: None,
            place: self.place,
            other_urls: self.other_urls,
            raw: self.raw,
            extra,
            names: self.names,
        }
    }

    /// The code that was read, from one of these columns.
    pub(super) fn set_code(&mut self, code: Result<Option<String>, String>, names: &[&str]) {
        self.note_name("custom_code", names);
        match code {
            Ok(code) => self.link.fields.custom_code = FieldEdit::set_if(code),
            Err(why) => {
                self.keep("short_code", names);
                self.refuse(why);
            }
        }
    }

    /// Notes what is wrong. The first fault is the reason.
    pub(super) fn refuse(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    /// Notes the name that the file has for a column.
    pub(super) fn note_name(&mut self, column: &'static str, names: &[&str]) {
        if let Some((name, _)) = self.record.find(names) {
            self.names.push((column, name.to_owned()));
        }
    }

    /// Keeps the value of a column as the file has it.
    pub(super) fn keep(&mut self, column: &'static str, names: &[&str]) {
        if let Some((_, cell)) = self.record.find(names) {
            self.raw.insert(column, cell.clone().into_bytes());
        }
    }

    /// The value of a field. A value that cannot be read is kept as it is, and so are the texts of tables in this service's
    /// own form.
    fn take<T: Default>(
        &mut self,
        column: &'static str,
        names: &[&str],
        read: impl FnOnce(&Record, &[&str]) -> Result<T, String>,
    ) -> T {
        self.note_name(column, names);
        let record = self.record;
        let found = record.find(names);
        let value = read(record, names);
        let is_text = matches!(found, Some((_, Cell::Value(value))) if value.is_string());
        if value.is_err() || (self.is_own && is_text) {
            self.keep(column, names);
        }
        value.unwrap_or_else(|why| {
            self.refuse(why);
            T::default()
        })
    }

    /// Reads the field with this name from one of these columns. It stays as it is if the file says nothing of it.
    pub(super) fn read(&mut self, name: &'static str, names: &[&str]) {
        fn set<T>(value: &mut FieldEdit<T>, read: Option<T>) {
            if let Some(read) = read {
                *value = FieldEdit::Set(read);
            }
        }
        let mut known = DocumentKind::Table.fields();
        let Some(field) = known.find(|field| field.name == name) else {
            return;
        };
        let mut fields = std::mem::take(&mut self.link.fields);
        match (field.value)(&mut fields) {
            Value::Text(value) => set(value, self.text(name, names)),
            Value::Secret(value) => set(value, self.secret(name, names)),
            Value::Words(value) => {
                let words = self.words(name, names, &[',']);
                set(value, Some(words).filter(|words| !words.is_empty()));
            }
            Value::Moment(value) => set(value, self.time(name, names)),
            Value::Limit(value) => {
                let limit = self.number(name, names, 1);
                set(value, limit.and_then(|most| MaxClicks::parse(most).ok()));
            }
            Value::Count(value) => {
                let count = self.number(name, names, 0);
                set(
                    value,
                    count.and_then(|count| StartingClicks::parse(count).ok()),
                );
            }
            Value::Flag(value) => set(value, self.flag(name, names)),
            Value::Rules(value) => set(value, self.rules(name, names)),
            Value::Owner(_) | Value::Ignored(_) => {}
        }
        self.link.fields = fields;
    }

    pub(super) fn text(&mut self, column: &'static str, names: &[&str]) -> Option<String> {
        self.take(column, names, |record, names| {
            let text = record.text(names)?;
            Ok(text.map(std::borrow::Cow::into_owned))
        })
    }

    /// A text that no message may have.
    pub(super) fn secret(&mut self, column: &'static str, names: &[&str]) -> Option<SecretText> {
        self.take(column, names, |record, names| {
            let text = record.text(names);
            let text = text.map_err(|_| format!("{column}: cannot be read as a text"))?;
            Ok(text.map(|text| SecretText::new(text.into_owned())))
        })
    }

    /// A list in JSON, or its text in a table.
    fn rules(&mut self, column: &'static str, names: &[&str]) -> Option<RulesJson> {
        self.take(column, names, |record, names| match record.find(names) {
            Some((_, Cell::Value(list))) if !list.is_string() => Ok(Some(RulesJson(list.clone()))),
            _ => {
                let text = record.text(names)?;
                let list = text.map(|text| text.parse());
                list.transpose()
                    .map_err(|why: String| format!("{column}: {why}"))
            }
        })
    }

    /// The rules of another service's link.
    pub(super) fn set_rules(
        &mut self,
        name: &str,
        read: fn(&serde_json::Value) -> Result<RulesJson, String>,
    ) {
        let read = self.take("rules", &[name], |record, names| match record.find(names) {
            Some((_, Cell::Value(list))) => read(list).map(Some),
            _ => Ok(None),
        });
        self.link.fields.rules = FieldEdit::set_if(read);
    }

    pub(super) fn number(
        &mut self,
        column: &'static str,
        names: &[&str],
        least: u64,
    ) -> Option<u64> {
        self.take(column, names, |record, names| record.number(names, least))
    }

    pub(super) fn flag(&mut self, column: &'static str, names: &[&str]) -> Option<bool> {
        self.take(column, names, Record::flag)
    }

    pub(super) fn time(&mut self, column: &'static str, names: &[&str]) -> Option<Timestamp> {
        let needs_zone = self.is_own;
        self.take(column, names, |record, names| {
            record.time(names, needs_zone)
        })
    }

    /// The end of a link as a number of such units since 1970; 0 is no end.
    pub(super) fn set_end(&mut self, names: &[&'static str], micros_per_unit: i64) {
        let units = self.number("expires_at", names, 0);
        let Some(units) = units.filter(|units| *units > 0) else {
            return;
        };
        let micros = i64::try_from(units).ok();
        let micros = micros.and_then(|units| units.checked_mul(micros_per_unit));
        if let Some(end) = micros.and_then(Timestamp::from_micros) {
            self.link.fields.expires_at = FieldEdit::Set(end);
        } else {
            self.keep("expires_at", names);
            let unit = if micros_per_unit == MICROS_PER_SECOND {
                "seconds"
            } else {
                "milliseconds"
            };
            self.refuse(format!("{}: must be a time in {unit} since 1970", names[0]));
        }
    }

    pub(super) fn words(
        &mut self,
        column: &'static str,
        names: &[&str],
        separators: &[char],
    ) -> Vec<String> {
        self.take(column, names, |record, names| {
            record.words(names, separators)
        })
    }

    /// Reads fields of an object within.
    pub(super) fn within(&mut self, name: &str, read: impl FnOnce(&mut Reading<'_>)) {
        let inner = self.record.nested(name);
        let mut reading = Reading {
            record: &inner,
            link: std::mem::take(&mut self.link),
            place: Place::Own,
            other_urls: Vec::new(),
            is_own: self.is_own,
            was_created: self.was_created,
            fault: self.fault.take(),
            raw: std::mem::take(&mut self.raw),
            names: std::mem::take(&mut self.names),
        };
        read(&mut reading);
        let Reading {
            link,
            fault,
            raw,
            names,
            ..
        } = reading;
        (self.link, self.fault, self.raw, self.names) = (link, fault, raw, names);
    }

    /// The host of the link: from a column with its name, or else from a column with its short URL.
    pub(super) fn set_place(&mut self, hosts: &[&str], short_urls: &[&str]) {
        let text = |names| self.record.text(names).ok().flatten();
        self.place = match (text(hosts), text(short_urls)) {
            (Some(host), _) => Place::of_host(&host),
            (None, Some(url)) => Place::of_url(&url),
            (None, None) => Place::Own,
        };
        self.note_name("domain", hosts);
    }

    /// The title of another service, and the tags, as far as there is room for them.
    pub(super) fn set_title(&mut self, names: &[&str]) {
        if let Some(title) = self.text("title", names) {
            self.link.set_title(&title);
        }
    }

    pub(super) fn set_tags(&mut self, names: &[&str], separators: &[char]) {
        let tags = self.words("tags", names, separators);
        self.link.set_tags(tags);
    }

    /// An export says when the link was created.
    pub(super) fn note_creation(&mut self, names: &[&str]) {
        self.was_created = self.record.find(names).is_some();
    }
}
