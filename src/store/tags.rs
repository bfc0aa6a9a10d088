//! Tags of an owner's links: their totals, and another name for a tag, or none, on all links that have it.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::owner_rows::owner_snapshot;
use super::rows::link_id;
use super::sql::{Row, Values, query, query_of_each};
use super::{OwnerSnapshot, Store, StoreError};
use crate::domain::{DomainId, LinkId, Principal, SearchTag, Tags, Timestamp};

/// Links that get other tags in one transaction.
pub const RETAGGED_IN_STEP: u32 = 500;

/// Kinds of rows, beside those of `owner_rows` that tell of the ledger.
const TAG: i64 = 10;
const UNMERGED: i64 = 11;
const TAGGED: i64 = 12;

/// Which tags of an owner are wanted.
#[derive(Clone, Copy, Debug)]
pub struct WantedTags<'a> {
    /// The owner.
    pub owner: Principal,
    /// This one only.
    pub only: Option<&'a SearchTag>,
    /// From just after this one, by their bytes.
    pub after: Option<&'a SearchTag>,
    /// Only tags of links of this host, counted there.
    pub domain: Option<DomainId>,
    /// How many at most.
    pub limit: u32,
}

/// The links of an owner that have a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagTotals {
    /// The tag.
    pub tag: String,
    /// How many they are.
    pub links: u64,
    /// Their clicks.
    pub clicks: u64,
}

/// Tags with what the database has of their clicks, and the ledger, from one snapshot.
#[derive(Debug, Default)]
pub struct TagSnapshot {
    /// The tags by their bytes, with the clicks that are written back or in the journal.
    pub totals: BTreeMap<String, TagTotals>,
    /// Those of these tags that each of the links asked about has.
    pub tagged: HashMap<LinkId, Vec<String>>,
    /// The ledger, and the links asked about that have such a tag. It has no points.
    pub ledger: OwnerSnapshot,
}

/// The first links of the account `$1`, which has the key `$2`, with the tag `$3`.
macro_rules! tagged {
    () => {
        "SELECT link_id FROM link_tags
         WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2) AND tag = $3
         ORDER BY created_at DESC, link_id DESC LIMIT $4"
    };
}

impl Store {
    /// Tags with their totals, and which of the links `asked` about have them. Nothing of an owner whose account is gone or has
    /// another key. The work grows with the links that have the tags.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn tags_of(
        &self,
        wanted: &WantedTags<'_>,
        asked: &[LinkId],
    ) -> Result<TagSnapshot, StoreError> {
        let mut values = Values::default();
        let (user, key) = (
            values.name(wanted.owner.user),
            values.name(&wanted.owner.key),
        );
        let of_owner = format!(
            "tagged.owner_id = (SELECT user_id FROM account_keys WHERE user_id = {user} AND key = {key})"
        );
        let tags = [(wanted.only, "="), (wanted.after, ">")].into_iter();
        let tags = tags.filter_map(|(tag, compared)| Some((tag?, compared)));
        let tags: Vec<_> = tags
            .map(|(tag, compared)| format!("tagged.tag {compared} {}", values.name(tag.as_str())))
            .collect();
        let domain = wanted.domain.map(|domain| {
            let domain = values.name(domain.number());
            format!("(SELECT domain FROM links WHERE links.id = tagged.link_id) = {domain}")
        });
        let conditions = [of_owner].into_iter().chain(tags).chain(domain);
        let is_wanted = conditions.collect::<Vec<_>>().join(" AND ");
        let asked = values.name(asked);
        // The limit is no parameter: a plan for any number of tags would read all links of the owner.
        let limit = wanted.limit;
        let (clicks, counted) = self.engine.either(
            (
                "coalesce(counted.clicks, 0)",
                "LEFT JOIN link_clicks AS counted ON counted.link_id = tagged.link_id",
            ),
            ("links.clicks", "JOIN links ON links.id = tagged.link_id"),
        );
        let unmerged = self.engine.either(
            format!(
                "SELECT link AS link_id, clicks AS n FROM owner_points_in_parts({user})
                 UNION ALL
                 SELECT links.id, clicks FROM links CROSS JOIN LATERAL points_in_parts(links.id)
                 WHERE owner_id = {user} AND made_by IS NOT NULL"
            ),
            UNCOMPACTED.to_owned(),
        );
        let find = values.query(format!(
            "WITH page AS MATERIALIZED (
                 SELECT tagged.tag AS tag, count(*) AS links, CAST(coalesce(sum({clicks}), 0) AS bigint) AS clicks
                 FROM link_tags AS tagged {counted} WHERE {is_wanted}
                 GROUP BY tagged.tag ORDER BY tagged.tag LIMIT {limit}
             )
             SELECT CAST({TAG} AS bigint) AS kind, tag AS name, links AS number, clicks AS amount FROM page
             UNION ALL
             SELECT {UNMERGED}, tagged.tag, 0, CAST(sum(unmerged.n) AS bigint)
             FROM ({unmerged}) AS unmerged JOIN link_tags AS tagged ON tagged.link_id = unmerged.link_id
                 JOIN page ON page.tag = tagged.tag
             WHERE {is_wanted} GROUP BY tagged.tag
             UNION ALL
             SELECT {TAGGED}, tagged.tag, tagged.link_id, 0
             FROM json_each({asked}) AS asked JOIN link_tags AS tagged ON tagged.link_id = CAST(asked.value AS bigint)
                 JOIN page ON page.tag = tagged.tag
             WHERE {is_wanted}
             UNION ALL
             {LEDGER}"
        ));
        let rows = self.engine.read(self.engine.by_its_clock(find).of_search());
        snapshot(&rows.await?)
    }

    /// Gives up to [`RETAGGED_IN_STEP`] links of an owner that have a tag another one in its place, or none, in one short
    /// transaction. Returns how many links had it: after 0, no link has it any more, unless it got it meanwhile.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn retag_some(
        &self,
        owner: Principal,
        (old, new): (&SearchTag, Option<&SearchTag>),
        now: Timestamp,
    ) -> Result<u32, StoreError> {
        // In the order of their ids, as removals lock them. Postgres might join all links with the few, so it is given a list.
        let find = query_of_each(
            concat!(
                "SELECT id, tags FROM live_links WHERE id = ANY (ARRAY(",
                tagged!(),
                ")) ORDER BY id FOR UPDATE"
            ),
            concat!(
                "SELECT id, tags FROM live_links WHERE id IN (",
                tagged!(),
                ") ORDER BY id"
            ),
        );
        let find = find.bind(owner.user).bind(&owner.key);
        let find = find.bind(old.as_str()).bind(RETAGGED_IN_STEP).of_search();
        let turn = find.turn();
        let retag = query_of_each(
            "UPDATE links SET tags = given.tags, updated_at = $2
             FROM json_to_recordset(CAST($1 AS json)) AS given (id bigint, tags text) WHERE links.id = given.id",
            "UPDATE links SET tags = given.tags, updated_at = $2
             FROM (SELECT value ->> 'id' AS id, value ->> 'tags' AS tags FROM json_each($1)) AS given
             WHERE links.id = given.id",
        );
        let retagged = self.engine.transaction_in_turn(turn, async |connection| {
            let found = connection.all(find).await?;
            let given = found.iter().map(|row| {
                let (id, tags): (LinkId, Tags) = (row.get("id")?, row.get("tags")?);
                let tags = tags.renamed(old.as_str(), new.map(SearchTag::as_str));
                let tags = json!(tags.as_slice()).to_string();
                Ok(json!({"id": id.number(), "tags": tags}))
            });
            let given = given.collect::<Result<serde_json::Value, StoreError>>()?;
            if !found.is_empty() {
                connection
                    .execute(retag.bind(given.to_string()).bind(now))
                    .await?;
            }
            Ok::<_, StoreError>(u32::try_from(found.len()).unwrap_or(u32::MAX))
        });
        retagged.await
    }

    /// The first tags of an owner, at most so many, by their bytes: each is looked up by itself, so the work grows with the tags and
    /// not with the links. Nothing of an owner whose account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn tag_names(&self, owner: Principal, limit: u32) -> Result<Vec<String>, StoreError> {
        let find = query(
            "WITH RECURSIVE names (tag, place) AS (
                 SELECT min(tag), 1 FROM link_tags
                 WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)
                 UNION ALL
                 SELECT (SELECT min(tag) FROM link_tags WHERE owner_id = $1 AND tag > names.tag), place + 1
                 FROM names WHERE tag IS NOT NULL AND place < $3
             )
             SELECT tag FROM names WHERE tag IS NOT NULL",
        );
        let find = find.bind(owner.user).bind(&owner.key).bind(limit);
        let found = self.engine.read(find).await?;
        found.iter().map(|row| row.get("tag")).collect()
    }

    /// Whether a link of an owner has a tag.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_tag(&self, owner: Principal, tag: &SearchTag) -> Result<bool, StoreError> {
        let find = query(concat!(
            "SELECT count(*) AS links FROM (",
            tagged!(),
            ") AS found"
        ));
        let find = find.bind(owner.user).bind(&owner.key);
        let found = self.engine.read_one(find.bind(tag.as_str()).bind(1_u32));
        let links: Option<i64> = found.await?.map(|row| row.get("links")).transpose()?;
        Ok(links.is_some_and(|links| links > 0))
    }
}

/// Clicks in the journal of SQLite that are in no link yet.
const UNCOMPACTED: &str =
    "SELECT CAST(pair.key AS INTEGER) AS link_id, pair.value AS n
     FROM click_journal LEFT JOIN compaction_cuts USING (recorder) LEFT JOIN click_recorders USING (recorder),
         json_each(click_journal.clicks) AS pair
     WHERE NOT parked AND (counted IS NULL OR number > counted)
       AND (compaction_cuts.last_batch IS NULL OR number > compaction_cuts.last_batch
            OR CAST(pair.key AS INTEGER) > (SELECT up_to FROM compaction))";

/// The ledger, as `owner_rows` reads it.
const LEDGER: &str = "SELECT 1, epoch, flush, up_to FROM data_sets
     UNION ALL
     SELECT 2, epoch, term, CAST(CASE WHEN term = (SELECT max(term) FROM data_sets WHERE tag = seen.tag) THEN 1 ELSE 0 END
         + CASE WHEN EXISTS (SELECT 1 FROM data_sets AS other WHERE other.tag = seen.tag AND drains_until > now_micros())
             THEN 2 ELSE 0 END AS bigint)
     FROM data_sets AS seen
     UNION ALL
     SELECT DISTINCT 3, coalesce(epoch, ''), 0, 0 FROM parked_batches";

fn snapshot(rows: &[Row]) -> Result<TagSnapshot, StoreError> {
    let mut snapshot = TagSnapshot::default();
    let mut of_ledger = Vec::new();
    for row in rows {
        let (kind, name): (i64, String) = (row.get("kind")?, row.get("name")?);
        let (number, amount): (i64, i64) = (row.get("number")?, row.get("amount")?);
        match kind {
            TAG | UNMERGED => {
                let totals = snapshot.totals.entry(name.clone());
                let totals = totals.or_insert(TagTotals {
                    tag: name,
                    links: 0,
                    clicks: 0,
                });
                totals.links += number.unsigned_abs();
                totals.clicks = totals.clicks.saturating_add(amount.unsigned_abs());
            }
            TAGGED => {
                let link = link_id(number)?;
                snapshot.ledger.owned.insert(link);
                snapshot.tagged.entry(link).or_default().push(name);
            }
            kind => {
                let kind = i32::try_from(kind).unwrap_or_default();
                of_ledger.push((kind, name, number, amount));
            }
        }
    }
    let owned = std::mem::take(&mut snapshot.ledger.owned);
    snapshot.ledger = OwnerSnapshot {
        owned,
        ..owner_snapshot(of_ledger)?
    };
    Ok(snapshot)
}
