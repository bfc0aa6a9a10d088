//! Reads all rows of a query as a single row of JSON.
//!
//! Each row of an answer wakes the task that waits for it, which takes the core from the thread that reads the next: on one core
//! two switches a row, which cost more than the row.

use serde::de::DeserializeOwned;
use sqlx::SqliteConnection;

/// The statement that gives the columns of a query, which has `?1` alone, as one row of JSON.
macro_rules! in_one_row {
    ($columns:literal, $query:literal) => {
        concat!(
            "SELECT json_group_array(json_array(",
            $columns,
            ")) FROM (",
            $query,
            ")"
        )
    };
}

pub(super) use in_one_row;

/// The rows of such a statement.
pub(super) async fn read<Row: DeserializeOwned>(
    connection: &mut SqliteConnection,
    statement: &'static str,
    asked: &str,
) -> Result<Vec<Row>, sqlx::Error> {
    let rows: String = sqlx::query_scalar(statement)
        .bind(asked)
        .fetch_one(connection)
        .await?;
    serde_json::from_str(&rows).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
