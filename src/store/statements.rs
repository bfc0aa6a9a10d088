//! Statements of months, and the public keys that confirm them.

use super::finding::of_owner;
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{LinkId, Month, Principal, ShortCode, StatementPublicKey, Timestamp};

/// Statements of a link, to be kept.
#[derive(Clone, Copy, Debug)]
pub struct NewStatements<'a> {
    /// The link.
    pub link: LinkId,
    /// The name of their zone.
    pub zone: &'a str,
    /// The month of the newest statement of the link in this zone, on which these follow; `None`: the link has none.
    pub after: Option<Month>,
    /// The months, each after the month before it, and their documents.
    pub statements: &'a [(Month, String)],
    /// The key that signed them.
    pub key: StatementPublicKey,
    /// When.
    pub at: Timestamp,
    /// In how many zones a link may have statements.
    pub max_zones: usize,
}

/// The result of issuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Issued {
    /// They are kept.
    Done,
    /// Others were issued meanwhile.
    Overtaken,
    /// The link has statements in these zones, as many as it may have.
    ManyZones(Vec<String>),
    /// There is no such link.
    NoLink,
}

impl Store {
    /// The statement of a link of this owner, as it was issued; `None` if it was not, or the owner has no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn statement(
        &self,
        owner: Principal,
        code: &ShortCode,
        zone: &str,
        month: Month,
    ) -> Result<Option<String>, StoreError> {
        let find = query(concat!(
            "SELECT document FROM statements JOIN links ON links.id = link_id
             WHERE link_id = (SELECT link_id FROM link_codes WHERE code = $3) AND tz = $4 AND month = $5 AND ",
            of_owner!()
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(code);
        let find = find.bind(zone).bind(month.to_string());
        let found = self.engine.read_one(find).await?;
        found.map(|row| row.get("document")).transpose()
    }

    /// The newest statement of a link in a zone: its month, and the document.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn newest_statement(
        &self,
        link: LinkId,
        zone: &str,
    ) -> Result<Option<(Month, String)>, StoreError> {
        let find = query(
            "SELECT month, document FROM statements WHERE link_id = $1 AND tz = $2 ORDER BY month DESC LIMIT 1",
        );
        let found = self.engine.read_one(find.bind(link).bind(zone)).await?;
        let read = |row: Row| Ok((row.get("month")?, row.get("document")?));
        found.map(read).transpose()
    }

    /// Keeps statements, all or none of them. Requests at the same time keep one statement of each month.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn issue_statements(&self, new: &NewStatements<'_>) -> Result<Issued, StoreError> {
        let lock = query("SELECT id FROM links WHERE id = $1 FOR NO KEY UPDATE");
        let state = query(
            "SELECT (SELECT max(month) FROM statements WHERE link_id = links.id AND tz = $2) AS newest FROM links WHERE id = $1",
        );
        let zones = query("SELECT DISTINCT tz FROM statements WHERE link_id = $1 ORDER BY tz");
        let key = query(
            "INSERT INTO statement_keys (public_key, since) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        );
        let issued = self.engine.transaction(async |connection| {
            connection.lock(lock.bind(new.link)).await?;
            let state = state.bind(new.link).bind(new.zone);
            let Some(state) = connection.optional(state).await? else {
                return Ok(Issued::NoLink);
            };
            if state.get::<Option<Month>>("newest")? != new.after {
                return Ok(Issued::Overtaken);
            }
            if new.after.is_none() {
                let zones = connection.all(zones.bind(new.link)).await?;
                let zones = zones.iter().map(|row| row.get("tz"));
                let zones: Vec<String> = zones.collect::<Result<_, _>>()?;
                if zones.len() >= new.max_zones {
                    return Ok(Issued::ManyZones(zones));
                }
            }
            let key = key.bind(new.key.as_bytes()).bind(new.at);
            connection.execute(key).await?;
            for (month, document) in new.statements {
                let insert = query(
                    "INSERT INTO statements (link_id, tz, month, document) VALUES ($1, $2, $3, $4)",
                );
                let insert = insert.bind(new.link).bind(new.zone);
                let insert = insert.bind(month.to_string()).bind(document.as_str());
                connection.execute(insert).await?;
            }
            Ok::<_, StoreError>(Issued::Done)
        });
        issued.await
    }

    /// The keys of all statements that were ever issued, the newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn statement_keys(&self) -> Result<Vec<StatementPublicKey>, StoreError> {
        let find = query("SELECT public_key FROM statement_keys ORDER BY since DESC, public_key");
        let found = self.engine.read(find).await?;
        let read = |row: &Row| {
            let key = StatementPublicKey::parse(&row.get::<Vec<u8>>("public_key")?);
            key.ok_or_else(|| StoreError::Unexpected("a key of statements is malformed".into()))
        };
        found.iter().map(read).collect()
    }
}
