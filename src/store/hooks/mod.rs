//! Hooks of accounts: where their events are sent.

mod deliveries;
mod delivering;
mod delivery;
mod held;
mod leasing;
mod totals;

pub use deliveries::Delivery;
pub use delivery::{Attempt, DueDelivery, HeldLink, NewDeliveries, NewDelivery, Round};
pub use leasing::LeasedHook;
pub use totals::HookTotals;

use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{
    EventPlace, EventType, HookFilter, HookSecret, HookUrl, Principal, Tags, Timestamp,
};

/// A hook as its owner sees it.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The database's own number.
    pub id: i64,
    /// The receiver.
    pub url: HookUrl,
    /// What is sent.
    pub filter: HookFilter,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether events are sent.
    pub is_active: bool,
    /// Deliveries that are not done.
    pub waiting: u64,
    /// Since when the receiver has taken nothing.
    pub failing_since: Option<Timestamp>,
    /// What it answered last, if it did not take a delivery.
    pub last_error: Option<String>,
}

/// A hook to be made.
pub struct NewHook<'a> {
    /// The receiver.
    pub url: &'a HookUrl,
    /// What is sent.
    pub filter: &'a HookFilter,
    /// Signs what is sent.
    pub secret: &'a HookSecret,
    /// When it is made.
    pub at: Timestamp,
}

/// A change of a hook; `None` leaves a property as it is.
#[derive(Clone, Default)]
pub struct HookEdit {
    /// Another receiver.
    pub url: Option<HookUrl>,
    /// Other types.
    pub types: Option<Vec<EventType>>,
    /// Other tags.
    pub tags: Option<Tags>,
    /// Switched on or off.
    pub is_active: Option<bool>,
    /// Another secret, and until when the former one signs, too.
    pub secret: Option<(HookSecret, Timestamp)>,
}

/// Why a hook was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateHookError {
    /// The owner's account is gone, or has another key.
    #[error("the owner does not exist")]
    OwnerGone,
    /// The owner has as many hooks as an account may have.
    #[error("the owner has as many hooks as an account may have")]
    TooMany,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The account `$1`, if it has its key `$2`.
macro_rules! the_owner {
    () => {
        "(SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)"
    };
}

impl Store {
    /// Makes a hook of an owner who has fewer than `max`, exactly so under concurrency, too. It begins with what happens from now on.
    ///
    /// # Errors
    /// [`CreateHookError`].
    pub async fn create_hook(
        &self,
        owner: Principal,
        hook: NewHook<'_>,
        max: u32,
    ) -> Result<Hook, CreateHookError> {
        let lock = query("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE").bind(owner.user);
        let count = query(concat!(
            "SELECT count(hooks.id) AS hooks FROM users LEFT JOIN hooks ON owner_id = users.id WHERE users.id = ",
            the_owner!(),
            " GROUP BY users.id"
        ));
        let count = count.bind(owner.user).bind(&owner.key);
        let insert = query(
            "INSERT INTO hooks (owner_id, url, types, tags, secret, created_at, read_step, read_index)
             SELECT $1, $2, $3, $4, $5, $6, step, $7 FROM event_steps RETURNING *",
        );
        let insert = insert
            .bind(owner.user)
            .bind(hook.url.as_str())
            .bind(types_json(&hook.filter.types))
            .bind(hook.filter.tags.as_slice())
            .bind(hook.secret.as_bytes())
            .bind(hook.at)
            .bind(i64::MAX);
        self.engine
            .transaction(async |connection| {
                connection.lock(lock).await?;
                let counted = connection.optional(count).await?;
                let hooks: i64 = counted.ok_or(CreateHookError::OwnerGone)?.get("hooks")?;
                if hooks >= i64::from(max) {
                    return Err(CreateHookError::TooMany);
                }
                Ok(read_hook(&connection.one(insert).await?)?)
            })
            .await
    }

    /// An owner's hooks, the oldest first; `None` if the account is gone, or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hooks_of(&self, owner: Principal) -> Result<Option<Vec<Hook>>, StoreError> {
        // An account without hooks has one row, without a hook.
        let find = query(concat!(
            "SELECT hooks.* FROM users LEFT JOIN hooks ON owner_id = users.id WHERE users.id = ",
            the_owner!(),
            " ORDER BY hooks.id"
        ));
        let found = self.engine.read(find.bind(owner.user).bind(&owner.key));
        let found = found.await?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut hooks = Vec::new();
        for row in &found {
            if row.get::<Option<i64>>("id")?.is_some() {
                hooks.push(read_hook(row)?);
            }
        }
        Ok(Some(hooks))
    }

    /// A hook of this owner.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hook_of(&self, owner: Principal, id: i64) -> Result<Option<Hook>, StoreError> {
        let find = query(concat!(
            "SELECT * FROM hooks WHERE id = $3 AND owner_id = ",
            the_owner!()
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(id);
        let found = self.engine.read_one(find).await?;
        found.as_ref().map(read_hook).transpose()
    }

    /// Changes a hook of this owner. One that is switched on, or has another receiver, tries at once what waits. Of two new secrets within 10 minutes, the second
    /// takes the place of the first, as a page may be sent twice. `None` without such a hook.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn edit_hook(
        &self,
        owner: Principal,
        id: i64,
        edit: &HookEdit,
    ) -> Result<Option<Hook>, StoreError> {
        // Another receiver, or one that works again.
        let begins_anew = edit.is_active == Some(true) || edit.url.is_some();
        let change = query(concat!(
            "UPDATE hooks SET url = coalesce($4, url), types = coalesce($5, types), tags = coalesce($6, tags),
                 old_secret = CASE WHEN $7 IS NULL OR old_secret_until > $8 - 600000000 THEN old_secret ELSE secret END,
                 old_secret_until = CASE WHEN $8 IS NULL OR old_secret_until > $8 - 600000000 THEN old_secret_until ELSE $8 END, secret = coalesce($7, secret),
                 is_active = CASE $9 WHEN 1 THEN true WHEN 0 THEN false ELSE is_active END,
                 failures = CASE $10 WHEN 1 THEN 0 ELSE failures END,
                 failing_since = CASE $10 WHEN 1 THEN NULL ELSE failing_since END,
                 retry_at = CASE $10 WHEN 1 THEN 0 ELSE retry_at END,
                 last_error = CASE $10 WHEN 1 THEN NULL ELSE last_error END
             WHERE id = $3 AND owner_id = ",
            the_owner!(),
            " RETURNING *"
        ));
        let (secret, until) = edit
            .secret
            .as_ref()
            .map(|(secret, until)| (secret.as_bytes(), *until))
            .unzip();
        let change = change
            .bind(owner.user)
            .bind(&owner.key)
            .bind(id)
            .bind(edit.url.as_ref().map(HookUrl::as_str))
            .bind(edit.types.as_deref().map(types_json))
            .bind(edit.tags.as_ref().map(Tags::as_slice))
            .bind(secret)
            .bind(until)
            .bind(edit.is_active.map(i64::from))
            .bind(i64::from(begins_anew));
        let again = query(
            "UPDATE hook_deliveries SET next_at = 0, attempts = 0, failing_since = NULL WHERE hook_id = $1 AND next_at IS NOT NULL",
        );
        self.engine
            .transaction(async |connection| {
                let Some(changed) = connection.optional(change).await? else {
                    return Ok(None);
                };
                if begins_anew {
                    connection.execute(again.bind(id)).await?;
                }
                read_hook(&changed).map(Some)
            })
            .await
    }

    /// Ends a hook of this owner with its deliveries. `false` without such a hook.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_hook(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let delete = query(concat!(
            "DELETE FROM hooks WHERE id = $3 AND owner_id = ",
            the_owner!()
        ));
        let delete = delete.bind(owner.user).bind(&owner.key).bind(id);
        Ok(self.engine.execute(delete).await? > 0)
    }

    /// Sends again what happened after a place. `false` without such a hook.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn replay_hook(
        &self,
        owner: Principal,
        id: i64,
        after: EventPlace,
    ) -> Result<bool, StoreError> {
        // What has no delivery yet comes anyway.
        let replay = query(concat!(
            "UPDATE hooks SET read_index = CASE WHEN (read_step, read_index) > ($4, $5) THEN $5 ELSE read_index END,
                 read_step = CASE WHEN (read_step, read_index) > ($4, $5) THEN $4 ELSE read_step END
             WHERE id = $3 AND owner_id = ",
            the_owner!()
        ));
        let replay = replay.bind(owner.user).bind(&owner.key).bind(id);
        let replay = replay.bind(after.step).bind(after.index);
        let held = query(
            "UPDATE hook_held_links SET read_step = $2, read_index = $3 WHERE hook_id = $1 AND (read_step, read_index) > ($2, $3)",
        );
        let held = held.bind(id).bind(after.step).bind(after.index);
        self.engine
            .transaction(async |connection| {
                let is_there = connection.execute(replay).await? > 0;
                if is_there {
                    connection.execute(held).await?;
                }
                Ok(is_there)
            })
            .await
    }
}

fn types_json(types: &[EventType]) -> String {
    let types: serde_json::Value = types.iter().map(|of| of.as_str()).collect();
    types.to_string()
}

fn read_hook(row: &Row) -> Result<Hook, StoreError> {
    let invalid = || StoreError::Unexpected("a hook is invalid".into());
    let url: String = row.get("url")?;
    let (types, tags): (String, String) = (row.get("types")?, row.get("tags")?);
    let types: Vec<String> = serde_json::from_str(&types).map_err(|_| invalid())?;
    let types = types.iter().filter_map(|of| EventType::parse(of)).collect();
    let tags = Tags::from_stored(serde_json::from_str(&tags).map_err(|_| invalid())?);
    Ok(Hook {
        id: row.get("id")?,
        url: HookUrl::from_stored(&url).ok_or_else(invalid)?,
        filter: HookFilter { types, tags },
        created_at: row.get("created_at")?,
        is_active: row.get("is_active")?,
        waiting: row.get::<i64>("waiting")?.unsigned_abs(),
        failing_since: row.get("failing_since")?,
        last_error: row.get("last_error")?,
    })
}
