//! What an owner sets of a link, as columns that are written. Links are created and edited by these columns: a further
//! property is one line of `properties!`.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::domain::{LinkProperties, MaxClicks, Timestamp, Title};

/// Declares the columns: name, type in Postgres, the property, and its value for JSON. A property without a line does not compile.
macro_rules! properties {
    ($($column:ident $kind:ident: $property:ident => $value:expr;)+) => {
        /// Names and types of the columns.
        const PROPERTIES: &[(&str, &str)] = &[$((stringify!($column), stringify!($kind))),+];

        /// The properties of a link as a row.
        pub(super) fn row(link: &LinkProperties) -> Map<String, Value> {
            let LinkProperties { $($property),+ } = link;
            let columns = [$((stringify!($column), Value::from($value))),+];
            columns.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
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

/// The text `$1`.
pub(super) fn in_json(rows: Vec<Map<String, Value>>) -> String {
    Value::from(rows).to_string()
}
