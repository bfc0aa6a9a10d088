//! The rows that a step of a search has read, and which of them contain its text.

use tokio::task::yield_now;

use super::{Position, ScannedLinks, StoreError, ToCount, WrittenClicks};
use crate::domain::{CODE_MARK, Link, LinkFilter, LinkId, PrivateNote, SearchText, Title};

/// Text that is looked through without a pause: some tenths of a millisecond.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Between the fields of a row that was looked at, and between such rows. No link has such a character in it.
const FIELD: char = '\u{1f}';
const ROW: char = '\u{1e}';

/// The beginning of a statement that gives rows of `key`, `id` and `text` in one text: as rows of their own they would cost
/// several times as much.
pub(super) const IN_ONE_TEXT: &str =
    "SELECT string_agg(key || '\u{1f}' || id || '\u{1f}' || text, '\u{1e}') AS found FROM";

/// All of a link that administrators look for a text in.
pub(super) const SEEN_TEXT: &str = "links.short_code || '\u{1f}' || links.target_url || '\u{1f}' || links.title || '\u{1f}' || coalesce(links.fallback_url, '') || '\u{1f}' || coalesce(links.rules, '') || CASE WHEN links.aliases = '[]' THEN '' ELSE replace(replace(replace(links.aliases, '[\"', '\u{1f}'), '\"]', ''), '\",\"', '\u{1f}') END";

/// All of a link that its owner looks for a text in. A code stands between marks, and tags are as they are written in a list.
pub(super) const LINK_TEXT: &str = "'\u{1d}/' || links.short_code || '\u{1d}' || links.target_url || '\u{1f}' || links.title || '\u{1f}' || links.note || CASE WHEN links.aliases = '[]' THEN '' ELSE replace(replace(replace(links.aliases, '[\"', '\u{1d}/'), '\"]', '\u{1d}'), '\",\"', '\u{1d}/') END || CASE WHEN links.tags = '[]' THEN '' ELSE '\u{1f}' || replace(replace(replace(links.tags, '[\"', ''), '\"]', ''), '\",\"', '\u{1f}') END";

/// The rows that a database looked at: of each its key, its number and, if it has all that the database looks for, its text.
/// `limit` is how many rows were asked for.
pub(super) async fn scanned(
    rows: Option<&str>,
    text: Option<&SearchText>,
    limit: u32,
) -> Result<ScannedLinks, StoreError> {
    let rows = rows.unwrap_or_default();
    let mut finder = text.map(SearchText::finder);
    let mut scanned = ScannedLinks {
        bytes: rows.len(),
        ..ScannedLinks::default()
    };
    let (mut last, mut count) = (None, 0);
    let mut pauses = Pauses::default();
    for row in rows.split_terminator(ROW) {
        let (position, text) = scanned_row(row)?;
        (last, count) = (Some(position), count + 1);
        let mut is_match = || finder.as_mut().is_none_or(|finder| finder.is_in(text));
        if !text.is_empty() && is_match() {
            scanned.matches.push(position);
        }
        pauses.after(row.len()).await;
    }
    scanned.next = last.filter(|_| count >= limit);
    Ok(scanned)
}

/// Rows of links with their clicks.
pub(super) async fn written_clicks(rows: Option<&str>) -> Result<Vec<WrittenClicks>, StoreError> {
    let mut written = Vec::new();
    let mut pauses = Pauses::default();
    for row in rows.unwrap_or_default().split_terminator(ROW) {
        let (made, clicks) = scanned_row(row)?;
        let clicks = clicks.parse().map_err(|_| unexpected())?;
        written.push(WrittenClicks { made, clicks });
        pauses.after(row.len()).await;
    }
    Ok(written)
}

fn scanned_row(row: &str) -> Result<(Position, &str), StoreError> {
    let fields = || {
        let (key, rest) = row.split_once(FIELD)?;
        let (id, text) = rest.split_once(FIELD)?;
        let id = LinkId::parse(id.parse().ok()?)?;
        let key = key.parse().ok()?;
        Some((Position { key, id }, text))
    };
    fields().ok_or_else(unexpected)
}

fn unexpected() -> StoreError {
    StoreError::Unexpected("a row that was looked at has other fields".into())
}

/// Those links that have the text of a filter in code, target, title, note, aliases or tags.
pub(super) async fn with_text(
    mut read: ToCount<Vec<Link>>,
    filter: &LinkFilter,
) -> ToCount<Vec<Link>> {
    let Some(text) = &filter.text else {
        return read;
    };
    let mut finder = text.finder();
    let mut pauses = Pauses::default();
    for link in std::mem::take(&mut read.value) {
        let properties = &link.properties;
        let title = properties.title.as_ref().map_or("", Title::as_str);
        let note = properties.note.as_ref().map_or("", PrivateNote::as_str);
        let mut fields = String::new();
        let codes = [link.code.as_key()].into_iter();
        for code in codes.chain(properties.aliases.keys()) {
            fields.push(CODE_MARK);
            fields.extend(["/", code]);
        }
        fields.push(CODE_MARK);
        let tags = properties.tags.as_slice().iter().map(String::as_str);
        let texts = [properties.target.as_str(), title, note].into_iter();
        for text in texts.chain(tags) {
            fields.extend([text, "\u{1f}"]);
        }
        if finder.is_in(&fields) {
            read.value.push(link);
        }
        pauses.after(fields.len()).await;
    }
    read
}

/// Lets other work of the thread go on while much text is looked through.
#[derive(Default)]
struct Pauses {
    since_last: usize,
}

impl Pauses {
    async fn after(&mut self, bytes: usize) {
        self.since_last += bytes;
        if self.since_last >= BYTES_AT_ONCE {
            self.since_last = 0;
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(key: i64, id: i64) -> Position {
        let id = LinkId::parse(id).unwrap();
        Position { key, id }
    }

    #[tokio::test]
    async fn rows_are_matched_and_the_last_one_says_where_to_go_on() {
        let text = SearchText::parse("org spring").unwrap();
        let rows = "9\u{1f}1\u{1f}code\u{1f}https://example.org/\u{1f}Spring\u{1e}8\u{1f}2\u{1f}\u{1e}7\u{1f}3\u{1f}spring\u{1f}https://example.com/\u{1f}";
        let found = scanned(Some(rows), text.as_ref(), 3).await.unwrap();
        assert_eq!(
            (found.matches, found.next, found.bytes),
            (vec![position(9, 1)], Some(position(7, 3)), rows.len())
        );
        let found = scanned(Some(rows), None, 4).await.unwrap();
        assert_eq!(
            (found.matches, found.next),
            (vec![position(9, 1), position(7, 3)], None)
        );
        assert_eq!(
            scanned(None, text.as_ref(), 3).await.unwrap(),
            ScannedLinks::default()
        );
        assert!(scanned(Some("nonsense"), None, 3).await.is_err());
    }
}
