//! Features of links that an import leaves behind, because they have no place here.

use serde::{Deserialize, Serialize};

/// Something of a link that is not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// It leads elsewhere for some visitors.
    RedirectRules,
    /// It has more than 20 short URLs besides.
    SecondCode,
    /// One of its short URLs is at another host than the link.
    OtherHost,
    /// It is at another host, which the file does not name.
    UnnamedHost,
    /// Its title is longer than 200 characters.
    TitleCut,
    /// One of its tags has a comma, or is longer than 50 characters.
    TagCut,
    /// It has more than 20 tags.
    TagLeftOut,
}

impl Note {
    /// The words of the summary, after the number of links.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::RedirectRules => "with redirect rules, which are left behind",
            Self::SecondCode => {
                "with more than 20 other short URLs, of which the first 20 are kept"
            }
            Self::OtherHost => {
                "with short URLs at another host than their own, which are left behind"
            }
            Self::UnnamedHost => {
                "of a custom domain that the file does not name; they are at the service's own host"
            }
            Self::TitleCut => "with a title that is cut to 200 characters",
            Self::TagCut => "with a tag that is shortened (at most 50 characters, no commas)",
            Self::TagLeftOut => "with more than 20 tags, of which the first 20 are kept",
        }
    }

    /// The words for one link, before the value.
    #[must_use]
    pub fn about_value(self) -> &'static str {
        match self {
            Self::RedirectRules => "redirect rules left behind",
            Self::SecondCode => {
                "short URL left behind, because a link has at most 20 besides its own"
            }
            Self::OtherHost => "short URL left behind, because it is at another host than the link",
            Self::UnnamedHost => {
                "is of a custom domain that the file does not name, and now at the service's own host"
            }
            Self::TitleCut => "title cut to 200 characters",
            Self::TagCut => "tag shortened: at most 50 characters, no commas",
            Self::TagLeftOut => "tag left out, because a link has at most 20 tags",
        }
    }
}
