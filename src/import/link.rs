//! A link on its way from a file, whatever service wrote it.

use serde::Serialize;

use super::note::Note;
use crate::domain::{FieldEdit, Timestamp};
use crate::wire::LinkFields;

/// Longest title of a link, and longest tag, in characters.
const MAX_TITLE: usize = 200;
const MAX_TAG: usize = 50;
/// How many tags a link has at most.
const MAX_TAGS: usize = 20;
/// How many codes it has at most beside its own.
const MAX_ALIASES: usize = 20;

/// A link to import; its JSON is an element of `POST /urls/bulk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ImportedLink {
    /// What is asked for.
    pub fields: LinkFields,
    /// What is left behind: its kind and its value.
    #[serde(skip)]
    pub notes: Vec<(Note, String)>,
}

impl Default for ImportedLink {
    fn default() -> Self {
        Self {
            fields: LinkFields::new_link(),
            notes: Vec::new(),
        }
    }
}

impl ImportedLink {
    /// Where it leads; empty if that is missing.
    #[must_use]
    pub fn target(&self) -> &str {
        self.fields.target_url.as_given().map_or("", String::as_str)
    }

    /// Its code, if it has one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.fields.custom_code.as_given().map(String::as_str)
    }

    /// Its host, unless that is the service's own.
    #[must_use]
    pub fn domain(&self) -> Option<&str> {
        self.fields.domain.as_given().map(String::as_str)
    }

    /// Its title, if it has one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.fields.title.as_given().map(String::as_str)
    }

    /// Its tags.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        self.fields.tags.as_given().map_or(&[], Vec::as_slice)
    }

    /// Clicks that the other service has counted.
    #[must_use]
    pub fn clicks(&self) -> u64 {
        let clicks = self.fields.clicks.as_given();
        clicks.map_or(0, |clicks| clicks.number())
    }

    /// Sets a title of another service, as far as titles here have room for it: on one line, of 200 characters.
    pub(super) fn set_title(&mut self, title: &str) {
        let kept = one_line(title, MAX_TITLE);
        if kept.chars().count() < one_line(title, usize::MAX).chars().count() {
            self.notes.push((Note::TitleCut, title.to_owned()));
        }
        self.fields.title = FieldEdit::set_if(Some(kept).filter(|title| !title.is_empty()));
    }

    /// Sets tags of another service, as far as there is room for them here.
    pub(super) fn set_tags(&mut self, tags: Vec<String>) {
        let mut all = self.tags().to_vec();
        for tag in tags {
            let kept = one_line(&tag.replace(',', ""), MAX_TAG);
            if kept.is_empty() || all.contains(&kept) {
                continue;
            }
            if all.len() == MAX_TAGS {
                self.notes.push((Note::TagLeftOut, tag));
                continue;
            }
            if kept != tag {
                self.notes.push((Note::TagCut, tag));
            }
            all.push(kept);
        }
        self.fields.tags = FieldEdit::set_if(Some(all).filter(|tags| !tags.is_empty()));
    }

    /// Sets further codes that it has at another service, each with its address, as far as there is room for them here.
    pub(super) fn set_aliases(&mut self, codes: impl Iterator<Item = (String, String)>) {
        let mut aliases = Vec::new();
        for (code, address) in codes {
            if aliases.len() == MAX_ALIASES {
                self.notes.push((Note::SecondCode, address));
            } else {
                aliases.push(code);
            }
        }
        self.fields.aliases = FieldEdit::set_if(Some(aliases).filter(|codes| !codes.is_empty()));
    }

    /// Says of a link that has expired that it was created before: the service takes an end in the past only of such links.
    #[must_use]
    pub fn created_before_its_end(mut self, now: Timestamp) -> Self {
        let end = self.fields.expires_at.as_given();
        let end = end.filter(|end| **end <= now).map(Timestamp::to_string);
        self.fields.created_at = FieldEdit::set_if(end);
        self
    }
}

/// A text on a single line, of at most so many characters.
fn one_line(text: &str, most: usize) -> String {
    let lines = text.split(char::is_control).map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let line: String = lines.join(" ").chars().take(most).collect();
    line.trim_end().to_owned()
}
