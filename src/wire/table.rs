//! Tables of links: the columns, each with its cell.

use std::borrow::Cow;

use super::link::FullLinkBody;

/// A column of an export.
#[derive(Debug)]
pub struct Column {
    /// Its name in the header line.
    pub name: &'static str,
    /// The cell of a link.
    pub cell: fn(&FullLinkBody) -> Cow<'_, str>,
}

/// The columns of an export, in their order.
pub const COLUMNS: [Column; 14] = [
    column("id", |link| link.id.to_string().into()),
    column("short_code", |link| (&link.short_code).into()),
    column("short_url", |link| (&link.short_url).into()),
    column("target_url", |link| (&link.target_url).into()),
    column("title", |link| text(link.title.as_deref())),
    column("tags", |link| link.tags.join(",").into()),
    column("clicks", |link| link.clicks.to_string().into()),
    column("is_active", |link| flag(link.is_active)),
    column("status", |link| text(Some(&link.status))),
    column("created_at", |link| (&link.created_at).into()),
    column("updated_at", |link| (&link.updated_at).into()),
    column("expires_at", |link| text(link.expires_at.as_deref())),
    column("max_clicks", |link| number(link.max_clicks)),
    column("forward_query", |link| flag(link.forward_query)),
];

const fn column(name: &'static str, cell: fn(&FullLinkBody) -> Cow<'_, str>) -> Column {
    Column { name, cell }
}

fn text(text: Option<&str>) -> Cow<'_, str> {
    text.unwrap_or_default().into()
}

fn number(number: Option<u64>) -> Cow<'static, str> {
    number
        .map(|number| number.to_string())
        .unwrap_or_default()
        .into()
}

fn flag(flag: bool) -> Cow<'static, str> {
    if flag { "true" } else { "false" }.into()
}
