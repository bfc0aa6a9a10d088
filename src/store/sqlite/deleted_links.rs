//! Deletions of links in SQLite.

use super::SqliteStore;
use crate::domain::{Principal, ShortCode};
use crate::store::connection::row_of_sqlite;
use crate::store::finding::{link_of_owner, link_to_count};
use crate::store::{Change, Deleted, IsExpected, StoreError};

impl SqliteStore {
    pub(super) async fn delete_in_transaction(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
    ) -> Result<Deleted, StoreError> {
        let mut writer = self.writer.get().await?;
        // There is one writer at a time: no edit comes in between.
        let mut transaction = writer.begin_immediate().await?;
        if let Some(is_expected) = is_expected {
            let found = row_of_sqlite(&mut transaction, link_of_owner(&owner, code)).await?;
            let Some(found) = found else {
                return Ok(Deleted::NotFound);
            };
            let link = link_to_count(owner.user, &found)?;
            if !is_expected(&link.value) {
                return Ok(Deleted::Refused);
            }
        }
        // A trigger notes the change and retires the code.
        let deleted = sqlx::query(
            "DELETE FROM links
             WHERE owner_id = ?1 AND short_code = ?2
             AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = ?1 AND key = ?3)",
        )
        .bind(owner.user.0)
        .bind(code.as_str())
        .bind(owner.key.as_bytes())
        .execute(&mut *transaction)
        .await?;
        if deleted.rows_affected() == 0 {
            return Ok(Deleted::NotFound);
        }
        // The newest change of the code is this one.
        let number =
            sqlx::query_scalar("SELECT max(number) FROM link_changes WHERE short_code = ?1")
                .bind(code.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(Deleted::Done(Change {
            number,
            code: Some(code.clone()),
        }))
    }
}
