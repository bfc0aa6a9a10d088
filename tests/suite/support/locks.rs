//! Locks in Postgres that a test holds, and the statements that wait for one.

use sqlx::{Connection, PgConnection, Postgres, Transaction};

/// Holds the locks of a statement, until the transaction is rolled back.
pub(crate) async fn locked<'a>(
    holder: &'a mut PgConnection,
    statement: &'static str,
) -> Transaction<'a, Postgres> {
    let mut locked = holder.begin().await.unwrap();
    sqlx::raw_sql(statement)
        .execute(&mut *locked)
        .await
        .unwrap();
    locked
}

/// Statements of this database that wait for a lock and are about `table`.
pub(crate) async fn waiting_for(observer: &mut PgConnection, table: &str) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query ILIKE '%' || $1 || '%'";
    let waiting = sqlx::query_scalar(sql).bind(table);
    waiting.fetch_one(observer).await.unwrap()
}
