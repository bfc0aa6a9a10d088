//! Hosts beside the service's own.
//!
//! A trigger tells every instance of a change through the outbox.

use std::collections::HashMap;

use super::administration::note;
use super::connection::Connection;
use super::outbox::newest_changes;
use super::sql::{Query, Row, query};
use super::{Actor, Change, Store, StoreError};
use crate::domain::{
    Domain, DomainEdit, DomainHost, DomainId, DomainOwners, FieldEdit, MAX_DOMAINS, Principal,
    ServedHost, ShortCode, TargetUrl, Timestamp, WellKnownFile,
};

/// The result of making a host.
#[derive(Clone, Debug)]
pub enum DomainMade {
    /// The host, and the changes to announce.
    Done(Box<Domain>, Vec<Change>),
    /// There is this host already.
    Exists,
    /// There are as many hosts as there may be.
    Full,
}

/// The result of removing a host.
#[derive(Clone, Debug)]
pub enum DomainRemoved {
    /// The changes to announce.
    Done(Vec<Change>),
    /// There is no such host.
    Unknown,
    /// It has links.
    HasLinks,
}

/// All columns but the files, which a list leaves out.
macro_rules! columns {
    () => {
        "SELECT id, host, name, root_url, not_found_url, for_all, created_at"
    };
}

macro_rules! one_domain {
    () => {
        concat!(
            columns!(),
            ", assetlinks, apple_app_site_association FROM domains WHERE name = $1"
        )
    };
}

impl Store {
    /// What redirects need of all hosts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn served_hosts(&self) -> Result<Vec<ServedHost>, StoreError> {
        let find = query("SELECT id, host, name, root_url, not_found_url FROM domains");
        let found = self.engine.read(find.first()).await?;
        found.iter().map(served).collect()
    }

    /// All hosts by their names, without their files.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn domains(&self) -> Result<Vec<Domain>, StoreError> {
        let find = query(concat!(columns!(), " FROM domains ORDER BY name"));
        let found = self.engine.read(find).await?;
        let mut domains: Vec<_> = found.iter().map(domain).collect::<Result<_, _>>()?;
        let find = query(
            "SELECT domain_id, email FROM domain_owners JOIN users ON users.id = user_id ORDER BY email",
        );
        let owners = self.engine.read(find).await?;
        let mut of_domains = owners_of(&owners)?;
        for domain in &mut domains {
            if let Some(owners) = &mut domain.owners {
                *owners = of_domains.remove(&domain.id).unwrap_or_default();
            }
        }
        Ok(domains)
    }

    /// The host with this name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn domain(&self, name: &DomainHost) -> Result<Option<Domain>, StoreError> {
        let read = self.engine.transaction(async |connection| {
            let find = query(one_domain!()).bind(name.name());
            let found = connection.optional(find).await?;
            match found {
                Some(row) => whole(connection, &row).await.map(Some),
                None => Ok(None),
            }
        });
        read.await
    }

    /// A file below `/.well-known/` of a host: its association with apps of Android, or of Apple.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn domain_file(
        &self,
        id: DomainId,
        of_apple: bool,
    ) -> Result<Option<String>, StoreError> {
        let find = query(if of_apple {
            "SELECT apple_app_site_association AS file FROM domains WHERE id = $1"
        } else {
            "SELECT assetlinks AS file FROM domains WHERE id = $1"
        });
        let found = self.engine.read_one(find.bind(id.number())).await?;
        found.map_or(Ok(None), |row| row.get("file"))
    }

    /// The hosts that an account may make links on, as they were given.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn domains_of(&self, owner: Principal) -> Result<Vec<String>, StoreError> {
        let find = query(
            "SELECT host FROM domains WHERE EXISTS (SELECT 1 FROM account_keys WHERE user_id = $1 AND key = $2)
             AND (for_all OR id IN (SELECT domain_id FROM domain_owners WHERE user_id = $1)) ORDER BY name",
        );
        let find = find.bind(owner.user).bind(&owner.key);
        let found = self.engine.read(find).await?;
        found.iter().map(|row| row.get("host")).collect()
    }

    /// Whether an account may make links on a host.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn may_use(&self, owner: Principal, id: DomainId) -> Result<bool, StoreError> {
        let find = query(
            "SELECT 1 AS found FROM domains WHERE id = $2
             AND (for_all OR id IN (SELECT domain_id FROM domain_owners WHERE user_id = $1))",
        );
        let find = find.bind(owner.user).bind(id.number());
        Ok(self.engine.read_one(find).await?.is_some())
    }

    /// Makes a host, and notes that for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn make_domain(
        &self,
        host: &DomainHost,
        edit: &DomainEdit,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<DomainMade, StoreError> {
        let made = self.engine.transaction(async |connection| {
            if connection.optional(by_name(host)).await?.is_some() {
                return Ok(DomainMade::Exists);
            }
            let insert = query(
                "INSERT INTO domains (host, name, created_at) SELECT $1, $2, $3 WHERE (SELECT count(*) FROM domains) < $4
                 ON CONFLICT (name) DO NOTHING RETURNING id",
            );
            let most = i64::try_from(MAX_DOMAINS).unwrap_or(i64::MAX);
            let insert = insert.bind(host.as_str()).bind(host.name()).bind(at).bind(most);
            let Some(row) = connection.optional(insert).await? else {
                return Ok(DomainMade::Full);
            };
            let id = row.get("id")?;
            set(connection, id, edit).await?;
            note(connection, by, at, "add_domain", &subject(host), "").await?;
            let (domain, changes) = changed(connection, host, id).await?;
            Ok(DomainMade::Done(Box::new(domain), changes))
        });
        made.await
    }

    /// Changes a host, and notes that for the audit. `None`: there is no such host.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn edit_domain(
        &self,
        host: &DomainHost,
        edit: &DomainEdit,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<Option<(Domain, Vec<Change>)>, StoreError> {
        let edited = self.engine.transaction(async |connection| {
            let Some(row) = connection.optional(by_name(host)).await? else {
                return Ok(None);
            };
            let id = row.get("id")?;
            set(connection, id, edit).await?;
            note(connection, by, at, "edit_domain", &subject(host), "").await?;
            changed(connection, host, id).await.map(Some)
        });
        edited.await
    }

    /// Removes a host without links, and notes that for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove_domain(
        &self,
        host: &DomainHost,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<DomainRemoved, StoreError> {
        let removed = self.engine.transaction(async |connection| {
            // A link that is made at the same moment waits for this lock, or is found below.
            let lock = query("SELECT 1 FROM domains WHERE name = $1 FOR UPDATE");
            connection.lock(lock.bind(host.name())).await?;
            let Some(row) = connection.optional(by_name(host)).await? else {
                return Ok(DomainRemoved::Unknown);
            };
            let id: DomainId = row.get("id")?;
            let links =
                query("SELECT 1 AS found FROM links WHERE domain = $1 AND domain > 0 LIMIT 1");
            if connection
                .optional(links.bind(id.number()))
                .await?
                .is_some()
            {
                return Ok(DomainRemoved::HasLinks);
            }
            let remove = query("DELETE FROM domains WHERE id = $1");
            connection.execute(remove.bind(id.number())).await?;
            note(connection, by, at, "remove_domain", &subject(host), "").await?;
            let changes = newest_changes(connection, &[ShortCode::of_domain(id)]).await?;
            Ok(DomainRemoved::Done(changes))
        });
        removed.await
    }
}

/// A host, in the words of the audit.
fn subject(host: &DomainHost) -> String {
    format!("domain {host}")
}

fn by_name(host: &DomainHost) -> Query<'_> {
    query("SELECT id FROM domains WHERE name = $1").bind(host.name())
}

/// Sets what an edit has. Each host is changed by a statement at least, so that every instance learns of it.
async fn set(
    connection: &mut Connection<'_>,
    id: DomainId,
    edit: &DomainEdit,
) -> Result<(), StoreError> {
    let texts = [
        (
            "UPDATE domains SET root_url = $2 WHERE id = $1",
            text(&edit.root, TargetUrl::as_str),
        ),
        (
            "UPDATE domains SET not_found_url = $2 WHERE id = $1",
            text(&edit.not_found, TargetUrl::as_str),
        ),
        (
            "UPDATE domains SET assetlinks = $2 WHERE id = $1",
            text(&edit.assetlinks, WellKnownFile::as_str),
        ),
        (
            "UPDATE domains SET apple_app_site_association = $2 WHERE id = $1",
            text(&edit.apple_app_site_association, WellKnownFile::as_str),
        ),
    ];
    for (sql, value) in texts {
        if value.is_kept() {
            continue;
        }
        let set = query(sql).bind(id.number()).bind(value.given());
        connection.execute(set).await?;
    }
    let Some(owners) = &edit.owners else {
        return Ok(());
    };
    let (for_all, users) = match owners {
        DomainOwners::All => (true, Vec::new()),
        DomainOwners::Some(users) => (false, users.iter().map(|user| user.0).collect()),
    };
    let update = query("UPDATE domains SET for_all = $2 WHERE id = $1");
    connection
        .execute(update.bind(id.number()).bind(for_all))
        .await?;
    let clear = query("DELETE FROM domain_owners WHERE domain_id = $1");
    connection.execute(clear.bind(id.number())).await?;
    let add = query(
        "INSERT INTO domain_owners (domain_id, user_id) SELECT $1, CAST(value AS bigint) FROM json_each($2)
         WHERE true ON CONFLICT DO NOTHING",
    );
    connection
        .execute(add.bind(id.number()).bind(&users[..]))
        .await?;
    Ok(())
}

fn text<T>(edit: &FieldEdit<T>, as_str: fn(&T) -> &str) -> FieldEdit<&str> {
    match edit {
        FieldEdit::Keep => FieldEdit::Keep,
        FieldEdit::Clear => FieldEdit::Clear,
        FieldEdit::Set(value) => FieldEdit::Set(as_str(value)),
    }
}

/// A host as it is now, and its changes to announce.
async fn changed(
    connection: &mut Connection<'_>,
    host: &DomainHost,
    id: DomainId,
) -> Result<(Domain, Vec<Change>), StoreError> {
    let find = query(one_domain!()).bind(host.name());
    let found = connection.optional(find).await?;
    let missing = || StoreError::Unexpected(format!("there is no domain {host}"));
    let domain = whole(connection, &found.ok_or_else(missing)?).await?;
    let changes = newest_changes(connection, &[ShortCode::of_domain(id)]).await?;
    Ok((domain, changes))
}

async fn whole(connection: &mut Connection<'_>, row: &Row) -> Result<Domain, StoreError> {
    let mut domain = domain(row)?;
    let file = |name| {
        let file: Option<String> = row.get(name)?;
        Ok::<_, StoreError>(file.map(WellKnownFile::from_stored))
    };
    domain.assetlinks = file("assetlinks")?;
    domain.apple_app_site_association = file("apple_app_site_association")?;
    if let Some(owners) = &mut domain.owners {
        let find = query(
            "SELECT email FROM domain_owners JOIN users ON users.id = user_id WHERE domain_id = $1 ORDER BY email",
        );
        let found = connection.all(find.bind(domain.id.number())).await?;
        *owners = found
            .iter()
            .map(|row| row.get("email"))
            .collect::<Result<_, _>>()?;
    }
    Ok(domain)
}

/// The owners of each host, of rows with both.
pub(super) fn owners_of(rows: &[Row]) -> Result<HashMap<DomainId, Vec<String>>, StoreError> {
    let mut of_domains = HashMap::<_, Vec<_>>::new();
    for row in rows {
        let of_domain = of_domains.entry(row.get("domain_id")?).or_default();
        of_domain.push(row.get("email")?);
    }
    Ok(of_domains)
}

/// A row without files and owners.
pub(super) fn domain(row: &Row) -> Result<Domain, StoreError> {
    let for_all: bool = row.get("for_all")?;
    Ok(Domain {
        id: row.get("id")?,
        host: DomainHost::from_stored(row.get("host")?, row.get("name")?),
        root: row.get("root_url")?,
        not_found: row.get("not_found_url")?,
        assetlinks: None,
        apple_app_site_association: None,
        owners: (!for_all).then(Vec::new),
        created_at: row.get("created_at")?,
    })
}

fn served(row: &Row) -> Result<ServedHost, StoreError> {
    let location = |name| {
        let url: Option<TargetUrl> = row.get(name)?;
        Ok::<_, StoreError>(url.map(|url| url.location().into()))
    };
    Ok(ServedHost {
        id: row.get("id")?,
        host: DomainHost::from_stored(row.get("host")?, row.get("name")?),
        root: location("root_url")?,
        not_found: location("not_found_url")?,
    })
}
