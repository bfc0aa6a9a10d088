//! Shares of statistics: who has the secret of one may read the statistics of its link.

use super::finding::of_owner;
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{Principal, ShortCode, Timestamp, TokenKey};

/// A share, without its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatsShare {
    /// The database's own number.
    pub id: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// The result of making a share.
#[derive(Clone, Copy, Debug)]
pub enum Shared {
    /// It is made.
    Done(StatsShare),
    /// The link has as many as it may have.
    Full,
    /// The owner has no such link.
    NoLink,
}

/// What the holder of a share may read: the link with this code, as its owner does.
#[derive(Clone, Debug)]
pub struct SharedStats {
    /// The owner of the link.
    pub owner: Principal,
    /// The link's own code.
    pub code: ShortCode,
}

macro_rules! own_link {
    () => {
        concat!(
            "(SELECT id FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $3) AND ",
            of_owner!(),
            ")"
        )
    };
}

impl Store {
    /// Shares the statistics of a link that has fewer than `max` shares, exactly so under concurrency, too.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn share_stats(
        &self,
        owner: Principal,
        code: &ShortCode,
        hash: TokenKey,
        at: Timestamp,
        max: i64,
    ) -> Result<Shared, StoreError> {
        let lock = query(
            "SELECT id FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $1) FOR NO KEY UPDATE",
        );
        let count = query(concat!(
            "SELECT links.id AS link, (SELECT count(*) FROM stats_shares WHERE link_id = links.id) AS shares FROM links WHERE id = ",
            own_link!()
        ));
        let count = count.bind(owner.user).bind(&owner.key).bind(code);
        let shared = self.engine.transaction(async |connection| {
            connection.lock(lock.bind(code)).await?;
            let Some(counted) = connection.optional(count).await? else {
                return Ok(Shared::NoLink);
            };
            if counted.get::<i64>("shares")? >= max {
                return Ok(Shared::Full);
            }
            let insert = query(
                "INSERT INTO stats_shares (link_id, hash, created_at) VALUES ($1, $2, $3) RETURNING id, created_at",
            );
            let link: i64 = counted.get("link")?;
            let insert = insert.bind(link).bind(&hash).bind(at);
            Ok::<_, StoreError>(Shared::Done(share(&connection.one(insert).await?)?))
        });
        shared.await
    }

    /// The shares of a link, the newest first; `None` if the owner has no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn stats_shares(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<Vec<StatsShare>>, StoreError> {
        // A link without shares has one row, without a share.
        let find = query(concat!(
            "SELECT stats_shares.id, stats_shares.created_at FROM links LEFT JOIN stats_shares ON link_id = links.id WHERE links.id = ",
            own_link!(),
            " ORDER BY stats_shares.id DESC"
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(code);
        let found = self.engine.read(find).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut shares = Vec::new();
        for row in &found {
            if row.get::<Option<i64>>("id")?.is_some() {
                shares.push(share(row)?);
            }
        }
        Ok(Some(shares))
    }

    /// Ends a share of a link. `false` if the owner has no such link, or the link no such share.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_stats_share(
        &self,
        owner: Principal,
        code: &ShortCode,
        id: i64,
    ) -> Result<bool, StoreError> {
        let end = query(concat!(
            "DELETE FROM stats_shares WHERE id = $4 AND link_id = ",
            own_link!()
        ));
        let end = end.bind(owner.user).bind(&owner.key).bind(code).bind(id);
        Ok(self.engine.execute(end).await? > 0)
    }

    /// What the holder of the share with this hash may read; `None` if there is no such share, or its link is deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn shared_stats(&self, hash: &TokenKey) -> Result<Option<SharedStats>, StoreError> {
        let find = query(
            "SELECT users.id AS user_id, token_key, short_code FROM stats_shares
             JOIN live_links AS links ON links.id = stats_shares.link_id JOIN users ON users.id = links.owner_id WHERE hash = $1",
        );
        let Some(row) = self.engine.read_one(find.bind(hash)).await? else {
            return Ok(None);
        };
        Ok(Some(SharedStats {
            owner: Principal {
                user: row.get("user_id")?,
                key: row.get("token_key")?,
            },
            code: row.get("short_code")?,
        }))
    }
}

fn share(row: &Row) -> Result<StatsShare, StoreError> {
    Ok(StatsShare {
        id: row.get("id")?,
        created_at: row.get("created_at")?,
    })
}
