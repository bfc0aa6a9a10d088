//! A link on its way from a file, whatever service wrote it.

use serde::{Serialize, Serializer};

use super::note::Note;
use crate::domain::Timestamp;

/// A link to import; its JSON is an element of `POST /urls/bulk`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportedLink {
    /// Where it leads.
    pub target_url: String,
    /// Its code, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_code: Option<String>,
    /// Its end.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub expires_at: Option<Timestamp>,
    /// Redirects in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_clicks: Option<u64>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether a visitor's query is added.
    pub forward_query: bool,
    /// Clicks that the other service has counted.
    pub clicks: u64,
    /// Whether it is followed.
    pub is_active: bool,
    /// The latest moment at which it was created, if that matters.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub created_at: Option<Timestamp>,
    /// The moment before which the other service does not follow it.
    #[serde(skip)]
    pub starts_at: Option<Timestamp>,
    /// The other service asks for a password before it follows it.
    #[serde(skip)]
    pub is_protected: bool,
    /// What is left behind: its kind and its value.
    #[serde(skip)]
    pub notes: Vec<(Note, String)>,
}

#[expect(clippy::ref_option, reason = "it is how serde hands it over")]
fn as_text<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.map(|time| time.to_string()).unwrap_or_default())
}

impl ImportedLink {
    /// Longest title of a link, and longest tag, in characters.
    const MAX_TITLE: usize = 200;
    const MAX_TAG: usize = 50;
    /// Tags of a link at most.
    const MAX_TAGS: usize = 20;

    /// Sets a title of another service, as far as titles here have room for it: on one line, of 200 characters.
    pub(super) fn set_title(&mut self, title: &str) {
        let kept = one_line(title, Self::MAX_TITLE);
        if kept.chars().count() < one_line(title, usize::MAX).chars().count() {
            self.notes.push((Note::TitleCut, title.to_owned()));
        }
        self.title = Some(kept).filter(|title| !title.is_empty());
    }

    /// Sets tags of another service, as far as there is room for them here.
    pub(super) fn set_tags(&mut self, tags: Vec<String>) {
        for tag in tags {
            let kept = one_line(&tag.replace(',', ""), Self::MAX_TAG);
            if kept.is_empty() || self.tags.contains(&kept) {
                continue;
            }
            if self.tags.len() == Self::MAX_TAGS {
                self.notes.push((Note::TagLeftOut, tag));
                continue;
            }
            if kept != tag {
                self.notes.push((Note::TagCut, tag));
            }
            self.tags.push(kept);
        }
    }

    /// Why the link may not be made here, where it would be open to more people than before: the field, and the reason.
    #[must_use]
    pub fn would_be_too_open(&self, now: Timestamp) -> Option<(&'static str, String)> {
        if self.is_protected {
            let why = "is protected by a password, and here it would be open to everyone; remove the password there, or leave the link out";
            return Some(("has_password", why.into()));
        }
        let start = self.starts_at.filter(|start| *start > now)?;
        let why = format!(
            "starts at {start}, and here it would be open at once; import it after that time"
        );
        Some(("starts_at", why))
    }

    /// Says of a link that has ended that it was created before: of other links the service takes no end in the past.
    #[must_use]
    pub fn created_before_its_end(mut self, now: Timestamp) -> Self {
        self.created_at = self.expires_at.filter(|end| *end <= now);
        self
    }
}

/// A text on one line, of so many characters at most.
fn one_line(text: &str, most: usize) -> String {
    let lines = text.split(char::is_control).map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let line: String = lines.join(" ").chars().take(most).collect();
    line.trim_end().to_owned()
}
