//! Hosts beside the service's own, as a list for administrators.

use std::collections::HashMap;

use super::connection::Connection;
use super::domains::{domain, owners_of};
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{ListedDomain, Newest, NewestWanted, ShortCode};

impl Store {
    /// Hosts with the text in their names, without their files, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn listed_domains(
        &self,
        wanted: &NewestWanted,
    ) -> Result<Newest<ListedDomain>, StoreError> {
        let find = query("SELECT id, name FROM domains WHERE id < $1 ORDER BY id DESC");
        let mut found = self.engine.read(find.bind(wanted.below())).await?;
        if let Some(text) = &wanted.text {
            let mut finder = text.finder();
            let mut has_text = |row: &Row| {
                let name: Result<String, _> = row.get("name");
                name.is_ok_and(|name| finder.is_in(&name))
            };
            found.retain(|row| has_text(row));
        }
        found.truncate(wanted.one_more() as usize);
        let ids: Vec<i64> = found
            .iter()
            .map(|row| row.get("id"))
            .collect::<Result<_, _>>()?;
        // An alias has a row of its own, which is no link. The index of hosts needs `domain > 0`.
        let find = query(
            "SELECT id, host, name, root_url, not_found_url, for_all, created_at,
                 (SELECT count(*) FROM (
                     SELECT 1 FROM links WHERE domain = domains.id AND domain > 0 AND alias_of IS NULL LIMIT 1000) AS counted) AS links
             FROM domains WHERE id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY id DESC",
        );
        let rows = self.engine.read(find.bind(&ids[..])).await?;
        let find = query(
            "SELECT domain_id, email FROM domain_owners JOIN users ON users.id = user_id
             WHERE domain_id IN (SELECT CAST(value AS bigint) FROM json_each($1)) ORDER BY email",
        );
        let owners = self.engine.read(find.bind(&ids[..])).await?;
        let mut owners: HashMap<_, _> = owners_of(&owners)?;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut domain = domain(row)?;
            if let Some(named) = &mut domain.owners {
                *named = owners.remove(&domain.id).unwrap_or_default();
            }
            let links: i64 = row.get("links")?;
            entries.push(ListedDomain {
                domain,
                links: links.unsigned_abs(),
            });
        }
        Ok(Newest::of(entries, wanted, |entry| {
            entry.domain.id.number()
        }))
    }
}

/// A code as people write it, of another host with that: for the audit, which outlives the host.
pub(super) async fn with_host(
    connection: &mut Connection<'_>,
    code: &ShortCode,
) -> Result<String, StoreError> {
    let domain = code.domain();
    if domain.is_own() {
        return Ok(code.to_string());
    }
    let find = query("SELECT host FROM domains WHERE id = $1").bind(domain.number());
    let Some(row) = connection.optional(find).await? else {
        return Ok(code.as_key().to_owned());
    };
    let host: String = row.get("host")?;
    Ok(format!("{host}/{code}"))
}
