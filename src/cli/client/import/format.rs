//! How the formats of exports are read.

use super::link::{ImportedLink, Named};
use super::record::Record;

/// How an export is read.
pub(super) struct Format {
    /// The format, as in "is this an export of Kutt?".
    pub(super) name: &'static str,
    /// Names of the target, one of which has to be there.
    pub(super) target: &'static [&'static str],
    /// Names of the code, one of which has to be there; none where links may be without.
    pub(super) codes: &'static [&'static str],
    /// All columns, where another one is a mistake.
    pub(super) known: Option<&'static [&'static str]>,
    /// Formulas in its tables have an apostrophe before.
    pub(super) is_guarded: bool,
    /// The code of an entry, if it has one.
    pub(super) code: fn(&Record) -> Result<Option<String>, String>,
    /// The link that an entry with this target stands for, or why there is none.
    pub(super) link: fn(&Record, String) -> Result<ImportedLink, String>,
}

impl Format {
    /// Checks the names of a table's columns.
    pub(super) fn check_columns(&self, columns: &[String]) -> Result<(), String> {
        for group in self.needed() {
            let is_there = columns
                .iter()
                .any(|column| group.contains(&column.as_str()));
            if !is_there {
                let names = group.join("` or `");
                let name = self.name;
                return Err(format!(
                    "the header line has no column `{names}`: is this {name}?"
                ));
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

    /// The link that an entry stands for, or why there is none.
    pub(super) fn link(&self, record: &Record) -> Result<ImportedLink, String> {
        let target = record.text(self.target)?;
        let target = target.ok_or_else(|| self.lacks(self.target))?.into_owned();
        let mut link = (self.link)(record, target)?;
        link.custom_code = (self.code)(record)?;
        if link.custom_code.is_none() && !self.codes.is_empty() {
            return Err(self.lacks(self.codes));
        }
        Ok(link)
    }

    /// The target and the code of an entry that stands for no link.
    pub(super) fn named(&self, record: &Record) -> Named {
        let target = record.text(self.target).ok().flatten();
        let code = (self.code)(record).ok().flatten();
        Named {
            target_url: target.map(Into::into).unwrap_or_default(),
            code: code.unwrap_or_default(),
        }
    }

    /// Names of which one of each group has to be there.
    fn needed(&self) -> impl Iterator<Item = &'static [&'static str]> {
        let groups = [self.target, self.codes].into_iter();
        groups.filter(|group| !group.is_empty())
    }

    /// An entry without such a value is likely one of another format.
    fn lacks(&self, names: &[&str]) -> String {
        let value = names.first().copied().unwrap_or_default();
        format!("has no {value}: is this {}?", self.name)
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
