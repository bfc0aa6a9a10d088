//! Whether Postgres went back: a standby that lagged took over, or a backup was restored beneath running instances.
//!
//! Every server tells when it was started. The statements that give ids out do so on a server alone on which an instance has
//! made this check since that start; a server that took over, or was restored, has another start, and a dump that is restored
//! makes another table. The check compares the server, its position in the write-ahead log, and the newest rows that this instance has seen. Where the server is another
//! one, or lacks something, ids are lifted and a new history begins, by which every instance knows that what is cached may
//! be wrong.

use super::PostgresStore;
use super::seen::{KnownDatabase, NewestRows, Row};
use super::session::Session;
use crate::store::{HistoryCheck, HistoryNote, StoreError};

/// How many ids are left out where some may have been given out already: far more than any standby lags behind.
const GAP: i64 = 1_000_000;

/// How often a statement is tried on a server that was started since the last check: it may be started again meanwhile.
pub(in crate::store) const CHECKS: u32 = 3;

/// What is answered after that.
pub(in crate::store) fn unchecked() -> StoreError {
    StoreError::Unavailable("its server was replaced several times in a row".into())
}

const SEEN: &str = "
    SELECT id, h.server, EXISTS (SELECT FROM checked_server), p.server,
        (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, p.bytes
    FROM database_history h, server_position() p";

const LOCKED: &str = "
    SELECT id, h.server, EXISTS (SELECT FROM checked_server), p.server,
        (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, p.bytes
    FROM database_history h, server_position() p FOR UPDATE OF h";

impl PostgresStore {
    /// Checks the server before it gives an id out.
    pub(in crate::store) async fn check_server(&self) -> Result<(), StoreError> {
        let _one = self.seen.checking.lock().await;
        self.compare(None).await
    }

    pub(in crate::store) async fn check(
        &self,
        others: Option<&HistoryNote>,
    ) -> Result<HistoryCheck, StoreError> {
        let _one = self.seen.checking.lock().await;
        self.compare(others).await?;
        let mut noted = self.seen.noted();
        Ok(HistoryCheck {
            went_back: std::mem::take(&mut noted.went_back),
            note: noted.note.clone(),
        })
    }

    async fn compare(&self, others: Option<&HistoryNote>) -> Result<(), StoreError> {
        let before = {
            let mut noted = self.seen.noted();
            if let Some(others) = others {
                if noted.note.id.is_empty() {
                    // The first check after a start: others know where the database was.
                    let own = std::mem::replace(&mut noted.note, others.clone());
                    noted.note.add(&own);
                } else {
                    let known = noted.note.clone();
                    noted.note.add(others);
                    if (&known.link, &known.deleted) != (&noted.note.link, &noted.note.deleted) {
                        // Whether the database has these, too, is not known yet.
                        noted.started = 0;
                    }
                }
            }
            noted.clone()
        };
        let seen: Row = self
            .pool
            .run(async |session| sqlx::query_as(SEEN).fetch_one(session).await)
            .await?;
        let (row, went_back) = if before.is_current(&seen) {
            (seen, false)
        } else {
            let confirmed = self
                .pool
                .transaction(async |session| confirm(session, &before).await);
            confirmed.await?
        };
        let (id, _, _, server, started, bytes) = row;
        let mut noted = self.seen.noted();
        noted.started = started;
        noted.went_back |= went_back;
        noted.at_check = if id == before.note.id {
            NewestRows {
                link: before.note.link,
                deleted: before.note.deleted,
            }
        } else {
            NewestRows::default()
        };
        let note = &mut noted.note;
        if note.id != id {
            // They were rows of another history.
            note.link = None;
            note.deleted = None;
        }
        note.id = id;
        note.server = server;
        note.bytes = bytes;
        Ok(())
    }
}

/// Compares the database with what this instance has seen, and begins a new history where the database may have gone back.
/// Returns whether it certainly did.
async fn confirm(
    session: &mut Session,
    before: &KnownDatabase,
) -> Result<(Row, bool), sqlx::Error> {
    let mut row: Row = sqlx::query_as(LOCKED).fetch_one(&mut *session).await?;
    let (id, checked_server, is_checked, server, _, bytes) = &mut row;
    let note = &before.note;
    let links = [&note.link, &before.at_check.link].into_iter().flatten();
    let (ids, codes): (Vec<_>, Vec<_>) = links.cloned().unzip();
    let deleted = [&note.deleted, &before.at_check.deleted].into_iter();
    let has_all: bool = sqlx::query_scalar(
        "SELECT NOT EXISTS (SELECT FROM unnest($1::bigint[], $2::text[]) AS made (id, code)
                 WHERE NOT EXISTS (SELECT FROM links WHERE links.id = made.id)
                   AND NOT EXISTS (SELECT FROM retired_codes WHERE short_code = made.code))
            AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS deleted (code)
                 WHERE NOT EXISTS (SELECT FROM retired_codes WHERE short_code = deleted.code))",
    )
    .bind(ids)
    .bind(codes)
    .bind(deleted.flatten().cloned().collect::<Vec<_>>())
    .fetch_one(&mut *session)
    .await?;
    let is_known = !note.id.is_empty();
    let went_back = is_known && (!has_all || before.is_behind(server, *bytes));
    let is_another_server = !checked_server.is_empty() && checked_server != server;
    // Another instance may have begun a new history already, with a gap that is large enough.
    let is_new = is_another_server || went_back && (note.id == *id || !*is_checked);
    if is_new || went_back {
        sqlx::query("SELECT lift_ids($1, $2, $3)")
            .bind(note.highest_link)
            .bind(note.highest_account)
            .bind(if is_new { GAP } else { 0 })
            .execute(&mut *session)
            .await?;
    }
    if is_new || !*is_checked {
        *id = sqlx::query_scalar(
            "UPDATE database_history SET server = $1, checked_on = pg_postmaster_start_time(),
                 id = CASE WHEN $2 THEN encode(randomblob(16), 'hex') ELSE id END
             RETURNING id",
        )
        .bind(server.as_str())
        .bind(is_new)
        .fetch_one(session)
        .await?;
    }
    Ok((row, went_back))
}
