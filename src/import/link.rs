//! A link on its way from a file, whatever service wrote it.

use serde::{Serialize, Serializer};

use super::note::Note;
use crate::domain::{FieldEdit, MaxClicks, Timestamp};
use crate::wire::LinkFields;

/// A link to import; its JSON is an element of `POST /urls/bulk`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedLink {
    /// Where it leads.
    pub target_url: String,
    /// Its code, if it has one.
    pub custom_code: Option<String>,
    /// Its end.
    pub expires_at: Option<Timestamp>,
    /// Redirects in all.
    pub max_clicks: Option<u64>,
    /// Its title.
    pub title: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether a visitor's query is added.
    pub forward_query: bool,
    /// Clicks that the other service has counted.
    pub clicks: u64,
    /// Whether it is followed.
    pub is_active: bool,
    /// The latest moment at which it was created, if that matters.
    pub created_at: Option<Timestamp>,
    /// The moment before which the other service does not follow it.
    pub starts_at: Option<Timestamp>,
    /// The other service asks for a password before it follows it.
    pub is_protected: bool,
    /// What is left behind: its kind and its value.
    pub notes: Vec<(Note, String)>,
}

impl From<&ImportedLink> for LinkFields {
    fn from(link: &ImportedLink) -> Self {
        let text = |moment: Option<Timestamp>| FieldEdit::set_if(moment.map(|at| at.to_string()));
        let max_clicks = link.max_clicks.and_then(|most| MaxClicks::parse(most).ok());
        let tags = (!link.tags.is_empty()).then(|| link.tags.clone());
        Self {
            target_url: FieldEdit::Set(link.target_url.clone()),
            custom_code: FieldEdit::set_if(link.custom_code.clone()),
            expires_at: text(link.expires_at),
            max_clicks: FieldEdit::set_if(max_clicks),
            title: FieldEdit::set_if(link.title.clone()),
            tags: FieldEdit::set_if(tags),
            forward_query: FieldEdit::Set(link.forward_query),
            clicks: FieldEdit::Set(link.clicks.into()),
            is_active: FieldEdit::Set(link.is_active),
            created_at: text(link.created_at),
            ..Self::default()
        }
    }
}

impl Serialize for ImportedLink {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LinkFields::from(self).serialize(serializer)
    }
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
