//! Deletions of links in Postgres.

use super::PostgresStore;
use super::edited_links::locked_link;
use crate::domain::{Principal, ShortCode};
use crate::store::{Change, Deleted, IsExpected, StoreError};

impl PostgresStore {
    pub(super) async fn delete_in_transaction(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
    ) -> Result<Deleted, StoreError> {
        let deleted = self.pool.transaction(async |session| {
            if let Some(is_expected) = is_expected {
                let Some(link) = locked_link(session, owner, code).await? else {
                    return Ok(Deleted::NotFound);
                };
                if !is_expected(&link.value) {
                    return Ok(Deleted::Refused);
                }
            }
            // A trigger notes the change, retires the code, and leaves the clicks to `uncount_deleted`.
            let deleted = sqlx::query(
                "DELETE FROM links WHERE short_code = $2
                 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $3)",
            )
            .bind(owner.user.0)
            .bind(code.as_str())
            .bind(owner.key.as_bytes())
            .execute(&mut *session)
            .await?;
            if deleted.rows_affected() == 0 {
                return Ok(Deleted::NotFound);
            }
            // The number that the trigger drew in this session, and in this transaction.
            let number = sqlx::query_scalar(
                "SELECT currval(pg_get_serial_sequence('link_changes', 'number'))",
            )
            .fetch_one(session)
            .await?;
            Ok(Deleted::Done(Change {
                number,
                code: Some(code.clone()),
            }))
        });
        let deleted = deleted.await?;
        if matches!(deleted, Deleted::Done(_)) {
            self.seen.deleted(code);
        }
        Ok(deleted)
    }
}
