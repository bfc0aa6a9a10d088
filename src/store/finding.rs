//! Finding a link by its code.
//!
//! What is read of a link is said here only: a further field is a column more, and a line more in [`link`]. A field that a
//! redirect needs is a column of [`target_columns`] and a line of [`target`], too.

use std::collections::HashSet;

use super::sql::{Query, Row, query, query_of_each};
use super::{Store, StoreError};
use crate::domain::{
    Alias, Link, LinkId, LinkProperties, LinkTarget, MaxClicks, PasswordHash, Principal,
    RedirectOptions, ShortCode, Timestamp, UserId,
};

/// What a preview shows of a link beside its statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkMade {
    /// When it was made.
    pub at: Timestamp,
    /// How often it redirects, where that is limited.
    pub max_clicks: Option<MaxClicks>,
}

/// One link or several, read in order to count their clicks.
#[derive(Clone, Debug)]
pub struct ToCount<T> {
    /// What was read.
    pub value: T,
    /// Whether the journal held parked batches at the same moment: they have to be settled before clicks are counted.
    pub has_parked: bool,
}

/// What a redirect needs of a row of `links`.
macro_rules! target_columns {
    () => {
        "links.id, coalesce(made_by, owner_id) AS made_by, target_url, is_active, forward_query, noindex, expires_at, max_clicks, removed_status, starts_at, fallback_url, pool, password_hash, rules"
    };
}

/// Whether clicks have to be settled before they are counted.
macro_rules! has_parked {
    () => {
        "EXISTS (SELECT 1 FROM parked_batches) AS has_parked"
    };
}

/// All that is read of a row of `links`.
macro_rules! link_columns {
    () => {
        concat!(
            $crate::store::finding::target_columns!(),
            ", short_code, title, tags, note, aliases, links.created_at, updated_at, ",
            $crate::store::finding::has_parked!()
        )
    };
}

/// The same, for statements that are put together.
pub(super) const LINK_COLUMNS: &str = link_columns!();

/// What a redirect needs of the link with the code `$1`, with these columns, too.
macro_rules! target_of_code {
    ($($more:expr),*) => {
        concat!(
            "SELECT ",
            $crate::store::finding::target_columns!(),
            ", codes.alias_id, links.short_code AS own_code",
            $($more,)*
            " FROM link_codes AS codes JOIN live_links AS links ON links.id = codes.link_id WHERE codes.code = $1"
        )
    };
}

/// That a row is of the account `$1`, which has the key `$2`, and not in its bin.
macro_rules! of_owner {
    () => {
        "trashed_at = 0 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)"
    };
}

/// Codes that a new link of the account `$2` may not have: in Postgres each is looked up by itself, however its plan was made. A link
/// in the account's bin gives its codes up.
macro_rules! taken {
    ($one_of:literal) => {
        concat!(
            "SELECT short_code FROM links WHERE short_code ",
            $one_of,
            " AND NOT EXISTS (
                 SELECT 1 FROM links AS trashed WHERE trashed.id = coalesce(links.alias_of, links.id)
                 AND trashed.owner_id = $2 AND trashed.trashed_at > 0 AND trashed.removed_status IS NULL)
              UNION SELECT short_code FROM retired_codes WHERE short_code ",
            $one_of,
            " AND owner_id IS DISTINCT FROM $2"
        )
    };
}

pub(super) use {has_parked, link_columns, of_owner, target_columns};

impl Store {
    /// What a redirect needs of the link with this code, active or not. Goes before operations for which no redirect
    /// waits.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError> {
        let found = self.engine.read_one(target_of(code).first()).await?;
        found.as_ref().map(target).transpose()
    }

    /// The hash of the password that the link with this code has.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn link_password(
        &self,
        code: &ShortCode,
    ) -> Result<Option<(ShortCode, PasswordHash)>, StoreError> {
        let find = query(
            "SELECT short_code, password_hash FROM live_links AS links
             WHERE id = (SELECT link_id FROM link_codes WHERE code = $1) AND password_hash IS NOT NULL",
        );
        let found = self.engine.read_one(find.bind(code)).await?;
        let read = |row: Row| Ok((row.get("short_code")?, row.get("password_hash")?));
        found.map(read).transpose()
    }

    /// The same, read in order to count the link's clicks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError> {
        let find = query(target_of_code!(", ", has_parked!()));
        let found = self.engine.read_one(find.bind(code)).await?;
        let to_count = found.as_ref().map(|row| to_count(target(row)?, Some(row)));
        to_count.transpose()
    }

    /// When the link with this code was made, and with which limit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn link_made(&self, code: &ShortCode) -> Result<Option<LinkMade>, StoreError> {
        let find = query(
            "SELECT links.created_at, links.max_clicks FROM link_codes AS codes JOIN live_links AS links ON links.id = codes.link_id
             WHERE codes.code = $1",
        );
        let found = self.engine.read_one(find.bind(code)).await?;
        let made = found.map(|row| {
            Ok(LinkMade {
                at: row.get("created_at")?,
                max_clicks: row.get("max_clicks")?,
            })
        });
        made.transpose()
    }

    /// A link of this owner, read in order to count its clicks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn link_of(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<ToCount<Link>>, StoreError> {
        let found = self.engine.read_one(link_of_owner(&owner, code)).await?;
        let to_count = found.as_ref().map(|row| link_to_count(owner.user, row));
        to_count.transpose()
    }

    /// Those of these codes that a new link of this owner may not have: they belong to links, or did to links of others.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn taken_codes(
        &self,
        owner: UserId,
        codes: &[&ShortCode],
    ) -> Result<HashSet<ShortCode>, StoreError> {
        let codes: serde_json::Value = codes.iter().map(|code| code.as_key()).collect();
        let find = query_of_each(
            taken!("= ANY (ARRAY(SELECT value FROM json_each($1)))"),
            taken!("IN (SELECT value FROM json_each($1))"),
        );
        let taken = self
            .engine
            .read(find.bind(codes.to_string()).bind(owner))
            .await?;
        taken.iter().map(|row| row.get("short_code")).collect()
    }

    /// How many links were made, deleted ones included: as many codes are in use, or may never be used again. About so: a
    /// link whose creation failed may be among them. Costs the same with any number of links.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn links_made(&self) -> Result<u64, StoreError> {
        // The number that was drawn last.
        let find = query_of_each(
            "SELECT CASE WHEN is_called THEN last_value - link_ids_left_out ELSE 0 END AS made
             FROM links_id_seq, database_history",
            "SELECT seq AS made FROM sqlite_sequence WHERE name = 'links'",
        );
        let found = self.engine.read_one(find).await?;
        let made: Option<i64> = found.map(|row| row.get("made")).transpose()?;
        Ok(made.unwrap_or_default().unsigned_abs())
    }
}

/// What a redirect needs of the link with a code.
pub(super) fn target_of(code: &ShortCode) -> Query<'_> {
    query(target_of_code!()).bind(code)
}

/// A link of an owner, as it is now.
pub(super) fn link_of_owner<'q>(owner: &'q Principal, code: &'q ShortCode) -> Query<'q> {
    let find = query(concat!(
        "SELECT ",
        link_columns!(),
        " FROM links WHERE ",
        of_owner!(),
        " AND links.id = (SELECT link_id FROM link_codes WHERE code = $3)"
    ));
    find.bind(owner.user).bind(&owner.key).bind(code)
}

/// What was read, with what one of its rows says of parked batches.
fn to_count<T>(value: T, row: Option<&Row>) -> Result<ToCount<T>, StoreError> {
    let has_parked = row.map(|row| row.get("has_parked")).transpose()?;
    Ok(ToCount {
        value,
        has_parked: has_parked.unwrap_or_default(),
    })
}

pub(super) fn link_to_count(owner: UserId, row: &Row) -> Result<ToCount<Link>, StoreError> {
    to_count(link(owner, row)?, Some(row))
}

pub(super) fn links(owner: UserId, rows: &[Row]) -> Result<ToCount<Vec<Link>>, StoreError> {
    let links = rows.iter().map(|row| link(owner, row));
    to_count(links.collect::<Result<_, _>>()?, rows.first())
}

/// A link of this owner: its readers ask for links of one owner only, so the column is not read.
fn link(owner: UserId, row: &Row) -> Result<Link, StoreError> {
    let created_at = row.get("created_at")?;
    let updated_at: Option<_> = row.get("updated_at")?;
    Ok(Link {
        id: row.get("id")?,
        code: row.get("short_code")?,
        owner,
        made_by: row.get("made_by")?,
        properties: LinkProperties {
            target: row.get("target_url")?,
            is_active: row.get("is_active")?,
            title: row.get("title")?,
            tags: row.get("tags")?,
            expires_at: row.get("expires_at")?,
            max_clicks: row.get("max_clicks")?,
            forward_query: row.get("forward_query")?,
            starts_at: row.get("starts_at")?,
            fallback: row.get("fallback_url")?,
            note: row.get("note")?,
            noindex: row.get("noindex")?,
            password: row.get("password_hash")?,
            rules: row.get("rules")?,
            aliases: row.get("aliases")?,
        },
        created_at,
        updated_at: updated_at.unwrap_or(created_at),
        removed: row.get("removed_status")?,
    })
}

pub(super) fn target(row: &Row) -> Result<LinkTarget, StoreError> {
    let removed: Option<_> = row.get("removed_status")?;
    let is_active: bool = row.get("is_active")?;
    let max_clicks: Option<i64> = row.get("max_clicks")?;
    let password: Option<PasswordHash> = row.get("password_hash")?;
    let alias: Option<LinkId> = row.get("alias_id")?;
    let alias = alias.map(|id| {
        let link = row.get("own_code")?;
        Ok::<_, StoreError>(Alias { id, link })
    });
    Ok(LinkTarget {
        id: row.get("id")?,
        made_by: row.get("made_by")?,
        target: row.get("target_url")?,
        is_active: is_active && removed.is_none(),
        removed,
        expires_at: row.get("expires_at")?,
        options: RedirectOptions {
            is_limited: max_clicks.is_some(),
            forward_query: row.get("forward_query")?,
            noindex: row.get("noindex")?,
        },
        starts_at: row.get("starts_at")?,
        fallback: row.get("fallback_url")?,
        pool: row.get("pool")?,
        password: password.as_ref().map(PasswordHash::mark),
        rules: row.get("rules")?,
        alias: alias.transpose()?,
    })
}
