//! The numbers of visitor classes in SQLite.

use std::sync::Arc;

use serde_json::json;
use sqlx::SqliteConnection;

use super::one_row::{in_one_row, read};
use crate::domain::ClickClass;
use crate::store::details::MAX_CLASSES;
use crate::store::summing::{ClassIds, ClassRow, ClassesById, columns, numbered};

const KNOWN_CLASSES: &str = in_one_row!(
    "id, referrer, country, browser, os, device, rule, code, bot",
    "SELECT id, referrer, country, browser, os, device, rule, code, bot FROM click_classes
     WHERE (referrer, country, browser, os, device, rule, code, bot) IN (
         SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
             value ->> 7 FROM json_each(?1))"
);

const BY_ID: &str = in_one_row!(
    "id, referrer, country, browser, os, device, rule, code, bot",
    "SELECT id, referrer, country, browser, os, device, rule, code, bot FROM click_classes WHERE id IN (SELECT value FROM json_each(?1))"
);

/// The numbers of those classes that have one.
pub(super) async fn known_classes(
    reader: &mut SqliteConnection,
    classes: &[Arc<ClickClass>],
) -> Result<ClassIds, sqlx::Error> {
    let asked: Vec<_> = classes.iter().map(|class| columns(class)).collect();
    let found: Vec<ClassRow> = read(reader, KNOWN_CLASSES, &json!(asked).to_string()).await?;
    let found = found.into_iter().map(numbered);
    Ok(found.map(|(id, class)| (class, id)).collect())
}

/// The classes with these numbers.
pub(super) async fn classes(
    reader: &mut SqliteConnection,
    ids: &[i32],
) -> Result<ClassesById, sqlx::Error> {
    let found: Vec<ClassRow> = read(reader, BY_ID, &json!(ids).to_string()).await?;
    Ok(found.into_iter().map(numbered).collect())
}

/// Gives a number to classes that have none, as far as there is room. Returns them also as they are to be written. Only one step at a
/// time gives numbers.
pub(super) async fn new_classes(
    reader: &mut SqliteConnection,
    classes: &[Arc<ClickClass>],
) -> Result<(ClassIds, Vec<ClassRow>), sqlx::Error> {
    let newest: i32 = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM click_classes")
        .fetch_one(reader)
        .await?;
    let (mut ids, mut rows) = (ClassIds::default(), Vec::new());
    for (id, new) in (newest + 1..=MAX_CLASSES).zip(classes) {
        ids.insert(Arc::clone(new), id);
        let [referrer, country, browser, os, device, rule, code, bot] = columns(new);
        rows.push((id, referrer, country, browser, os, device, rule, code, bot));
    }
    Ok((ids, rows))
}
