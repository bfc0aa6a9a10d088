//! What an owner sets of a link, as columns that are written. Links are created and edited by these columns: a further
//! property is one line of [`PROPERTIES`].

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::domain::{LinkProperties, MaxClicks, Timestamp, Title};

/// A column.
struct Property {
    name: &'static str,
    /// Its type in Postgres.
    kind: &'static str,
    /// Its value as JSON.
    value: fn(&LinkProperties) -> Value,
}

#[rustfmt::skip]
const PROPERTIES: [Property; 7] = [
    Property { name: "target_url", kind: "text", value: |link| link.target.as_str().into() },
    Property { name: "is_active", kind: "boolean", value: |link| link.is_active.into() },
    Property { name: "title", kind: "text", value: |link| link.title.as_ref().map_or("", Title::as_str).into() },
    Property { name: "tags", kind: "text", value: |link| json!(link.tags.as_slice()).to_string().into() },
    Property { name: "expires_at", kind: "bigint", value: |link| link.expires_at.map(Timestamp::micros).into() },
    Property { name: "max_clicks", kind: "bigint", value: |link| link.max_clicks.map(MaxClicks::number).into() },
    Property { name: "forward_query", kind: "boolean", value: |link| link.forward_query.into() },
];

/// The names of the columns.
pub(super) static COLUMNS: LazyLock<String> =
    LazyLock::new(|| PROPERTIES.map(|property| property.name).join(", "));

/// Rows of a statement from the JSON text `$1`, which [`in_json`] makes; in Postgres and in SQLite.
pub(super) static GIVEN: LazyLock<[String; 2]> = LazyLock::new(|| {
    let columns = || {
        let properties = PROPERTIES
            .iter()
            .map(|property| (property.name, property.kind));
        [("place", "bigint"), ("short_code", "text")]
            .into_iter()
            .chain(properties)
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

/// The properties of a link as a row.
pub(super) fn row(link: &LinkProperties) -> Map<String, Value> {
    let columns = PROPERTIES
        .iter()
        .map(|property| (property.name.to_owned(), (property.value)(link)));
    columns.collect()
}
