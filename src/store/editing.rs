//! Changing links. Changes of one link come one after the other.

use std::sync::LazyLock;

use super::aliases::missing_alias;
use super::connection::Connection;
use super::creating::quota;
use super::finding::{link_of_owner, link_to_count};
use super::outbox::newest_changes;
use super::properties::{COLUMNS, GIVEN, GivenRow, in_json};
use super::sql::{Query, query};
use super::{Change, Store, StoreError, ToCount};
use crate::domain::{Aliases, Link, LinkProperties, Principal, ShortCode, Timestamp};

/// The result of an edit.
#[derive(Clone, Debug)]
pub enum Edited {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// An alias that it would get is taken.
    AliasTaken(ShortCode),
    /// The owner would have more links and aliases than an account may have.
    QuotaReached,
    /// It is changed, or was so already.
    Done(Box<EditedLink>),
}

/// A link that was edited.
#[derive(Clone, Debug)]
pub struct EditedLink {
    /// The link as it is now.
    pub link: ToCount<Link>,
    /// The clicks that the database has, read in the same transaction: as [`Clicks::counts`] without flushes.
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    pub clicks: u64,
    /// The changes to announce, if something changed: of each of its codes.
    pub changes: Vec<Change>,
}

/// Why a transaction is rolled back.
enum NotEdited {
    Because(Edited),
    /// The server has to be checked before it gives ids out.
    Unchecked,
    Store(StoreError),
}

impl From<StoreError> for NotEdited {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Makes new properties of a link, or refuses to.
pub type EditLink<'a> = &'a (dyn Fn(&Link) -> Option<LinkProperties> + Send + Sync);

/// The link `$2` gets the properties in `$1`. A trigger notes the change.
static UPDATE: LazyLock<Query<'static>> = LazyLock::new(|| {
    let columns = &*COLUMNS;
    let [postgres, sqlite] = GIVEN.each_ref().map(|given| {
        format!("UPDATE links SET ({columns}, updated_at) = (SELECT {columns}, $3 FROM {given}) WHERE id = $2")
    });
    Query::built_of_each(postgres, sqlite)
});

impl Store {
    /// Gives a link of this owner the properties that `edit` makes of its present ones, and notes the change in the outbox,
    /// in one transaction; edits of one link come one after the other. `edit` returns `None` to leave the link alone. Aliases that the
    /// link had and has no more are retired. The owner has `max_links` links and aliases at most (0: any number).
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn edit_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        max_links: u64,
        now: Timestamp,
    ) -> Result<Edited, StoreError> {
        // Aliases get ids.
        let edited = async || match self.try_to_edit(owner, code, edit, max_links, now).await {
            Ok(edited) | Err(NotEdited::Because(edited)) => Ok(Some(edited)),
            Err(NotEdited::Unchecked) => Ok(None),
            Err(NotEdited::Store(error)) => Err(error),
        };
        loop {
            let edited = self.engine.with_new_ids(edited).await?;
            match &edited {
                // Each time a link ends.
                Edited::AliasTaken(taken) if self.free_codes(owner.user, &[taken]).await? => {}
                _ => return Ok(edited),
            }
        }
    }

    async fn try_to_edit(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        max_links: u64,
        now: Timestamp,
    ) -> Result<Edited, NotEdited> {
        let edited = self.engine.transaction(async |connection| {
            let find = link_of_owner(&owner, code).locked("links");
            let Some(found) = connection.optional(find).await? else {
                return Ok(Edited::NotFound);
            };
            let mut link = link_to_count(owner.user, &found)?;
            let Some(properties) = edit(&link.value) else {
                return Ok(Edited::Refused);
            };
            let clicks = connection.written_clicks(link.value.id, now).await?;
            let mut changes = Vec::new();
            if properties != link.value.properties {
                let row = GivenRow {
                    place_and_code: None,
                    properties: &properties,
                };
                let update: Query<'_> = UPDATE.clone();
                let update = update.bind(in_json(&[row])?).bind(link.value.id).bind(now);
                connection.execute(update).await?;
                let before = std::mem::replace(&mut link.value.properties, properties);
                let after = &link.value;
                add_aliases(connection, after, &before.aliases, max_links).await?;
                let codes = codes_of(&after.code, &[&before.aliases, &after.properties.aliases]);
                changes = newest_changes(connection, &codes).await?;
                link.value.updated_at = now;
            }
            let edited = EditedLink {
                link,
                clicks,
                changes,
            };
            Ok(Edited::Done(Box::new(edited)))
        });
        edited.await
    }
}

/// Fails unless the link has the aliases that it should have, and its owner may have so many.
async fn add_aliases(
    connection: &mut Connection<'_>,
    link: &Link,
    before: &Aliases,
    max_links: u64,
) -> Result<(), NotEdited> {
    let aliases = &link.properties.aliases;
    if aliases.without(before).next().is_none() {
        return Ok(());
    }
    let find = query(
        "SELECT EXISTS (SELECT 1 FROM checked_server) AS is_checked, links + aliases AS codes
         FROM link_totals WHERE owner_id = $1",
    );
    let found = connection.one(find.bind(link.owner)).await?;
    if !found.get::<bool>("is_checked")? {
        return Err(NotEdited::Unchecked);
    }
    if let Some(taken) = missing_alias(connection, link.id, aliases).await? {
        return Err(NotEdited::Because(Edited::AliasTaken(taken)));
    }
    if found.get::<i64>("codes")? > quota(max_links) {
        return Err(NotEdited::Because(Edited::QuotaReached));
    }
    Ok(())
}

/// A link's own code, and those in lists of aliases.
pub(super) fn codes_of(own: &ShortCode, aliases: &[&Aliases]) -> Vec<ShortCode> {
    let aliases = aliases.iter().flat_map(|aliases| aliases.as_slice());
    std::iter::once(own).chain(aliases).cloned().collect()
}
