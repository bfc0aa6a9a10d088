//! Hosts beside the service's own, as a list for administrators.

use std::collections::HashMap;

use super::domains::{domain, owners_of};
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{ListedDomain, Newest, NewestWanted};

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
        // Aliases are links of their own there: what is counted is bounded, not exact.
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
