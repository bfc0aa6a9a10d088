//! The codes that links have beside their own. A trigger keeps their rows as the list of the link says, but for codes that are taken.

use serde_json::Value as Json;

use super::connection::Connection;
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{Aliases, LinkId, ShortCode};

/// The first of a link's aliases that has no row, because the code is taken: by a link, an alias of another link, or by another owner before.
pub(super) async fn missing_alias(
    connection: &mut Connection<'_>,
    link: LinkId,
    aliases: &Aliases,
) -> Result<Option<ShortCode>, StoreError> {
    let find = query(
        "SELECT value FROM json_each($1) AS asked
         WHERE NOT EXISTS (SELECT 1 FROM links WHERE short_code = value AND alias_of = $2) LIMIT 1",
    );
    let codes: Json = aliases.keys().collect();
    let missing = connection
        .optional(find.bind(codes.to_string()).bind(link))
        .await?;
    missing.map(|row| row.get("value")).transpose()
}

impl Store {
    /// All codes of a link, its own among them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn codes_of(&self, link: LinkId) -> Result<Vec<ShortCode>, StoreError> {
        let find = query("SELECT short_code FROM links WHERE id = $1 OR alias_of = $1");
        let found = self.engine.read(find.bind(link)).await?;
        found.iter().map(|row| row.get("short_code")).collect()
    }

    /// The aliases of a link, each with the number under which its clicks are counted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn aliases_of(&self, link: LinkId) -> Result<Vec<(ShortCode, LinkId)>, StoreError> {
        let find = query("SELECT short_code, id FROM links WHERE alias_of = $1 ORDER BY id");
        let found = self.engine.read(find.bind(link)).await?;
        let alias = |row: &Row| Ok((row.get("short_code")?, row.get("id")?));
        found.iter().map(alias).collect()
    }
}
