//! Edits of links in Postgres.

use super::PostgresStore;
use super::clicks::written_clicks;
use super::session::Session;
use crate::domain::{Link, Principal, ShortCode, Timestamp};
use crate::store::connection::row_of_postgres;
use crate::store::finding::{link_columns, link_to_count, of_owner};
use crate::store::rows;
use crate::store::sql::query;
use crate::store::{Change, EditLink, Edited, EditedLink, StoreError, ToCount};

/// A link of an owner by its code. It is locked: another change of it waits until the transaction ends.
pub(super) async fn locked_link(
    session: &mut Session,
    owner: Principal,
    code: &ShortCode,
) -> Result<Option<ToCount<Link>>, sqlx::Error> {
    let find = query(concat!(
        "SELECT ",
        link_columns!(),
        " FROM links WHERE ",
        of_owner!(),
        " AND short_code = $3 FOR UPDATE OF links"
    ));
    let find = find.bind(owner.user).bind(&owner.key).bind(code);
    let found = row_of_postgres(session, find).await?;
    let link = found.as_ref().map(|row| link_to_count(owner.user, row));
    link.transpose()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

impl PostgresStore {
    pub(super) async fn edit_in_transaction(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        now: Timestamp,
    ) -> Result<Edited, StoreError> {
        let edited = self.pool.transaction(async |session| {
            let Some(found) = locked_link(session, owner, code).await? else {
                return Ok(Edited::NotFound);
            };
            let ToCount {
                value: link,
                has_parked,
            } = found;
            let Some(properties) = edit(&link) else {
                return Ok(Edited::Refused);
            };
            let clicks = written_clicks(session, link.id).await?;
            let done = |link, change| {
                let link = ToCount {
                    value: link,
                    has_parked,
                };
                let edited = EditedLink {
                    link,
                    clicks,
                    change,
                };
                Ok(Edited::Done(Box::new(edited)))
            };
            if properties == link.properties {
                return done(link, None);
            }
            // A trigger notes the change.
            sqlx::query(
                "UPDATE links SET target_url = $2, is_active = $3, title = $4, tags = $5,
                     expires_at = $6, max_clicks = $7, forward_query = $8, updated_at = $9
                 WHERE id = $1",
            )
            .bind(link.id.number())
            .bind(properties.target.as_str())
            .bind(properties.is_active)
            .bind(rows::stored_title(&properties))
            .bind(rows::tags_as_json(&properties.tags))
            .bind(properties.expires_at.map(Timestamp::micros))
            .bind(rows::stored_max(&properties))
            .bind(properties.forward_query)
            .bind(now.micros())
            .execute(&mut *session)
            .await?;
            let number = sqlx::query_scalar(
                "SELECT currval(pg_get_serial_sequence('link_changes', 'number'))",
            )
            .fetch_one(session)
            .await?;
            let change = Change {
                number,
                code: Some(code.clone()),
            };
            let link = Link {
                properties,
                updated_at: now,
                ..link
            };
            done(link, Some(change))
        });
        Ok(edited.await?)
    }
}
