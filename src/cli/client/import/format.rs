//! How the formats of exports are read.

use super::link::ImportedLink;
use super::record::Record;

/// How an export is read.
pub(super) struct Format {
    /// Columns, one of which in each group has to be there.
    pub(super) needed: &'static [&'static [&'static str]],
    /// All columns, where another one is a mistake.
    pub(super) known: Option<&'static [&'static str]>,
    /// Formulas in its tables have an apostrophe before.
    pub(super) is_guarded: bool,
    /// The link that an entry stands for, or why there is none.
    pub(super) link: fn(&Record) -> Result<ImportedLink, String>,
}

impl Format {
    /// Checks the names of a table's columns.
    pub(super) fn check_columns(&self, columns: &[String]) -> Result<(), String> {
        for group in self.needed {
            let is_there = columns
                .iter()
                .any(|column| group.contains(&column.as_str()));
            if !is_there {
                let names = group.join("` or `");
                return Err(format!("the header line has no column `{names}`"));
            }
        }
        if let Some(known) = self.known {
            for column in columns {
                if !known.contains(&column.as_str()) {
                    let names = known.join(", ");
                    return Err(format!(
                        "the header line has an unknown column `{column}`; known are {names}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The code in a short URL, or in a path: all that follows the host, without slashes around it.
pub(super) fn code_of(short_url: &str) -> Option<String> {
    let rest = short_url
        .split_once("://")
        .map_or(short_url, |(_, rest)| rest);
    let path = rest.split_once('/').map(|(_, path)| path)?;
    let code = path.split(['?', '#']).next()?.trim_matches('/');
    (!code.is_empty()).then(|| code.to_owned())
}
