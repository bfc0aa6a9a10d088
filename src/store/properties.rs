//! The properties of a link as columns of the statements that create and edit links. A further property is one line of
//! `properties!`.

use std::sync::LazyLock;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::StoreError;
use crate::domain::{
    LinkProperties, MaxClicks, PasswordHash, PrivateNote, Rules, ShortCode, TargetUrl, Timestamp,
    Title,
};

/// Declares the columns: name, type in Postgres, the property, and its value for JSON. A property without a line does not compile.
macro_rules! properties {
    ($($column:ident $kind:ident: $property:ident => $value:expr;)+) => {
        /// Names and types of the columns.
        const PROPERTIES: &[(&str, &str)] = &[$((stringify!($column), stringify!($kind))),+];

        /// The values of the columns, in their order.
        fn values(link: &LinkProperties) -> impl IntoIterator<Item = (&'static str, Value)> + use<> {
            let LinkProperties { $($property),+ } = link;
            [$((stringify!($column), Value::from($value))),+]
        }
    };
}

properties! {
    target_url text: target => target.as_str();
    is_active boolean: is_active => *is_active;
    title text: title => title.as_ref().map_or("", Title::as_str);
    tags text: tags => json!(tags.as_slice()).to_string();
    expires_at bigint: expires_at => expires_at.map(Timestamp::micros);
    max_clicks bigint: max_clicks => max_clicks.map(MaxClicks::number);
    forward_query boolean: forward_query => *forward_query;
    starts_at bigint: starts_at => starts_at.map(Timestamp::micros);
    fallback_url text: fallback => fallback.as_ref().map(TargetUrl::as_str);
    note text: note => note.as_ref().map_or("", PrivateNote::as_str);
    noindex boolean: noindex => *noindex;
    password_hash text: password => password.as_ref().map(PasswordHash::expose);
    rules text: rules => rules.as_ref().map(Rules::as_json);
    aliases text: aliases => json!(aliases.keys().collect::<Vec<_>>()).to_string();
}

/// The names of the columns.
pub(super) static COLUMNS: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = PROPERTIES.iter().map(|(name, _)| *name).collect();
    names.join(", ")
});

/// Rows of a statement from the JSON text `$1`, which [`in_json`] makes; in Postgres and in SQLite.
pub(super) static GIVEN: LazyLock<[String; 2]> = LazyLock::new(|| {
    let columns = || {
        [("place", "bigint"), ("short_code", "text")]
            .into_iter()
            .chain(PROPERTIES.iter().copied())
    };
    let typed: Vec<_> = columns()
        .map(|(name, kind)| format!("{name} {kind}"))
        .collect();
    let read: Vec<_> = columns()
        .map(|(name, _)| format!("value ->> '{name}' AS {name}"))
        .collect();
    [
        format!(
            "json_to_recordset(CAST($1 AS json)) AS given ({})",
            typed.join(", ")
        ),
        format!("(SELECT {} FROM json_each($1)) AS given", read.join(", ")),
    ]
});

/// A row of the text `$1`: the properties of a link, and of a new link its place among others and its code, too.
pub(super) struct GivenRow<'a> {
    pub(super) place_and_code: Option<(usize, &'a ShortCode)>,
    pub(super) properties: &'a LinkProperties,
}

impl Serialize for GivenRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_map(None)?;
        if let Some((place, code)) = self.place_and_code {
            row.serialize_entry("place", &place)?;
            row.serialize_entry("short_code", code.as_key())?;
        }
        for (name, value) in values(self.properties) {
            // A name that is left out is NULL.
            if !value.is_null() {
                row.serialize_entry(name, &value)?;
            }
        }
        row.end()
    }
}

/// The text `$1`.
pub(super) fn in_json(rows: &[GivenRow<'_>]) -> Result<String, StoreError> {
    serde_json::to_string(rows).map_err(|error| StoreError::Unexpected(error.to_string()))
}
