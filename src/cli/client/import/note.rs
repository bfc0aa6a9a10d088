//! Features of links that an import leaves behind, because they have no place here.

use serde::{Deserialize, Serialize};

/// Something of a link that was not imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Note {
    /// It leads elsewhere for some visitors.
    RedirectRules,
    /// It has another short URL besides.
    SecondCode,
    /// Its title is longer than 200 characters.
    TitleCut,
}

impl Note {
    /// The line of the summary, after the number of links.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::RedirectRules => "with redirect rules, which are left behind",
            Self::SecondCode => "with a second short URL, which is left behind",
            Self::TitleCut => "with a title that is cut to 200 characters",
        }
    }
}
