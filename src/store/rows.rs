//! Rows that have the same form in both databases, turned into values.

use sqlx::FromRow;

use super::StoreError;
use crate::domain::LinkId;

/// Rows as tuples of their columns, to be read with a plain query: `query_as` has a stream compiled for each tuple.
pub(super) trait Tuples<R: sqlx::Row> {
    fn tuples<T: for<'r> FromRow<'r, R>>(self) -> Result<Vec<T>, sqlx::Error>;
}

impl<R: sqlx::Row> Tuples<R> for Vec<R> {
    fn tuples<T: for<'r> FromRow<'r, R>>(self) -> Result<Vec<T>, sqlx::Error> {
        let mut tuples = Vec::with_capacity(self.len());
        for row in &self {
            tuples.push(T::from_row(row)?);
        }
        Ok(tuples)
    }
}

/// The row that a writing statement returned. To be read with `fetch_all`: with SQLite the other ways of fetching stop
/// at the first row, and a statement is committed, or fails to be, only at its end.
pub(super) fn written<T>(rows: Vec<T>) -> Option<T> {
    rows.into_iter().next()
}

pub(super) fn link_id(number: i64) -> Result<LinkId, StoreError> {
    LinkId::parse(number)
        .ok_or_else(|| StoreError::Unexpected(format!("{number} is no link's number")))
}

/// A count as databases keep it.
pub(super) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
