//! A link on its way from another service, whatever that was.

use serde::{Serialize, Serializer};
use shunt::domain::{CustomCode, MaxClicks, OwnHost, Tags, TargetUrl, Timestamp, Title};
use shunt::http::paths::is_kept_word;

use super::note::Note;

/// What a refused entry says of itself, so that its link is found again; empty where it says nothing.
#[derive(Debug, Default)]
pub(super) struct Named {
    pub(super) target_url: String,
    pub(super) code: String,
}

/// A link to import; its JSON is an element of `POST /urls/bulk`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ImportedLink {
    pub(super) target_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) custom_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub(super) expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_clicks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tags: Vec<String>,
    pub(super) forward_query: bool,
    /// Clicks that the other service has counted.
    pub(super) clicks: u64,
    pub(super) is_active: bool,
    /// The latest moment at which it was created, if that matters.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub(super) created_at: Option<Timestamp>,
    /// The moment before which the other service does not follow it.
    #[serde(skip)]
    pub(super) starts_at: Option<Timestamp>,
    /// The other service asks for a password before it follows it.
    #[serde(skip)]
    pub(super) is_protected: bool,
    /// Features that could not be taken along.
    #[serde(skip)]
    pub(super) notes: Vec<Note>,
}

#[expect(clippy::ref_option, reason = "it is how serde hands it over")]
fn as_text<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.map(|time| time.to_string()).unwrap_or_default())
}

impl ImportedLink {
    /// Longest title of a link, in characters.
    const MAX_TITLE: usize = 200;

    /// A link with a target and nothing else.
    pub(super) fn to(target_url: String) -> Self {
        Self {
            target_url,
            custom_code: None,
            expires_at: None,
            max_clicks: None,
            title: None,
            tags: Vec::new(),
            forward_query: false,
            clicks: 0,
            is_active: true,
            created_at: None,
            starts_at: None,
            is_protected: false,
            notes: Vec::new(),
        }
    }

    /// With a title of another service, as far as titles here have room for it: on one line, of 200 characters.
    pub(super) fn with_title(mut self, title: Option<impl AsRef<str>>) -> Self {
        let Some(title) = title else {
            return self;
        };
        let one_line = title.as_ref().replace(char::is_control, " ");
        let whole = one_line.trim();
        let kept: String = whole.chars().take(Self::MAX_TITLE).collect();
        if kept.len() < whole.len() {
            self.notes.push(Note::TitleCut);
        }
        self.title = Some(kept).filter(|title| !title.is_empty());
        self
    }

    /// Columns of a list of links, as an export has them: the target and the code first.
    pub(super) const COLUMNS: [&str; 9] = [
        "target_url",
        "short_code",
        "expires_at",
        "max_clicks",
        "title",
        "tags",
        "forward_query",
        "clicks",
        "is_active",
    ];

    /// The link in these columns, with this code.
    pub(super) fn cells(&self, code: &str) -> [String; 9] {
        let end = self.expires_at.map(|end| end.to_string());
        let most = self.max_clicks.map(|most| most.to_string());
        [
            self.target_url.clone(),
            code.to_owned(),
            end.unwrap_or_default(),
            most.unwrap_or_default(),
            self.title.clone().unwrap_or_default(),
            self.tags.join(","),
            self.forward_query.to_string(),
            self.clicks.to_string(),
            self.is_active.to_string(),
        ]
    }

    /// The same columns for an entry that stands for no link.
    pub(super) fn named_cells(named: &Named) -> [String; 9] {
        let mut cells = Self::COLUMNS.map(|_| String::new());
        cells[0].clone_from(&named.target_url);
        cells[1].clone_from(&named.code);
        cells
    }

    /// Finds faults that the service would refuse, but for those of the code; the service has the last word.
    pub(super) fn check(&self, own_host: Option<&OwnHost>, now: Timestamp) -> Result<(), String> {
        if self.is_protected {
            return Err("is protected by a password; here it would be open to all".into());
        }
        if let Some(start) = self.starts_at.filter(|start| *start > now) {
            return Err(format!("begins at {start}; here it would be open at once"));
        }
        if let Some(own_host) = own_host {
            TargetUrl::parse(&self.target_url, own_host).map_err(|error| error.to_string())?;
        }
        let title = self.title.as_deref().map(Title::parse).transpose();
        title.map_err(|error| error.to_string())?;
        let tags = self.tags.iter().map(String::as_str);
        Tags::parse(tags).map_err(|error| error.to_string())?;
        let most = self.max_clicks.map(MaxClicks::parse).transpose();
        most.map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Says of a link that has ended that it was created before: of other links the service takes no end in the past.
    pub(super) fn created_before_its_end(mut self, now: Timestamp) -> Self {
        self.created_at = self.expires_at.filter(|end| *end <= now);
        self
    }

    /// Why its code cannot be had, if that is so.
    pub(super) fn fault_of_code(&self) -> Option<String> {
        let code = self.custom_code.as_deref()?;
        let refused = CustomCode::parse(code, is_kept_word).err()?;
        Some(refused.to_string())
    }
}
