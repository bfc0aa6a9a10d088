//! The contract of removals: what administrators take away, and put back.

use async_trait::async_trait;

use super::{Change, StoreError};
use crate::domain::{
    Reason, Removal, RemovalId, RemovalStatus, RemovalTarget, ShortCode, Timestamp, UserId,
};

/// Links that are looked at in one step; each of them may be changed.
pub const LOOKED_AT_IN_STEP: u32 = 500;

/// How long after the first time links are looked through once more: no statement of an instance lasts so long that did
/// not know of the removal yet.
pub(super) const LOOK_AGAIN_AFTER_MICROS: i64 = 60_000_000;

/// What a banned account has in the place of its password's hash: a hash that no password is known to have. Every version reads
/// it, and takes as long for it as for any other.
pub(super) const NO_PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$YmFubmVkIGFjY291bnQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// See [`Removals::is_scanned`].
pub(super) const IS_LOOKED_THROUGH: &str =
    "SELECT looking_after IS NULL OR look_again_at IS NOT NULL FROM removals WHERE id = $1";

/// See [`Removals::in_force`].
pub(super) const IN_FORCE: &str =
    "SELECT id FROM removals WHERE kind = $1 AND value = $2 AND taken_back_at IS NULL";

/// Of several removals that cover a link, the oldest with the status that the link is answered by.
pub(super) const REASON_OF: &str =
    "SELECT reason FROM links JOIN link_removals ON link_id = links.id JOIN removals ON removals.id = removal_id
     WHERE short_code = $1 AND link_removals.status = removed_status ORDER BY removals.id LIMIT 1";

/// Whose work something is.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The account of an administrator; `None`: an operator on the command line, or the service itself.
    pub user: Option<UserId>,
    /// The address of the administrator's client, or a word for the command line.
    pub address: &'a str,
}

/// A removal to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewRemoval<'a> {
    /// What is removed.
    pub target: &'a RemovalTarget,
    /// Why.
    pub reason: &'a Reason,
    /// How its links are answered.
    pub status: RemovalStatus,
    /// Whose work it is.
    pub by: Actor<'a>,
    /// When.
    pub at: Timestamp,
}

/// The result of a removal.
#[derive(Clone, Debug)]
pub enum Removed {
    /// There is no such link or account.
    Unknown,
    /// This removal is in force for it already.
    Already(RemovalId),
    /// The removal, and the changes to announce.
    Done(Box<Removal>, Vec<Change>),
}

/// A link that is looked at because of a removal.
#[derive(Clone, Copy, Debug)]
pub struct LookedAt<'a> {
    /// The removal's kind.
    pub kind: &'a str,
    /// The removal's value.
    pub value: &'a str,
    /// Where the link leads, or the address that it was made from.
    pub text: &'a str,
}

/// Whether a removal covers a link. `None`: this instance cannot say so, and leaves the removal to another one.
pub type Covers<'a> = &'a (dyn Fn(LookedAt<'_>) -> Option<bool> + Send + Sync);

/// A step of a removal's work on its links.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// The changes to announce.
    pub changes: Vec<Change>,
    /// Links that were looked at.
    pub looked_at: u64,
}

/// Where the links of a removal are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Those that it covers are put back.
    Covered,
    /// All links of an account.
    Owner(i64),
    /// Those whose address was kept.
    Addresses,
    /// All links, by their targets.
    Targets,
}

impl Source {
    pub(super) fn of(kind: &str, value: &str, is_taken_back: bool) -> Self {
        match kind {
            _ if is_taken_back => Self::Covered,
            "user" => Self::Owner(value.parse().unwrap_or_default()),
            "address" => Self::Addresses,
            _ => Self::Targets,
        }
    }
}

/// A row that is looked at: the link, its place in the order of the work, its text, and whether the removal covers it.
pub(super) type LookedAtRow = (i64, i64, String, bool);

/// The links that the removal is to cover from now on, and those that it covers no longer.
pub(super) fn sorted(
    source: Source,
    (kind, value): (&str, &str),
    rows: &[LookedAtRow],
    covers: Covers<'_>,
) -> Option<(Vec<i64>, Vec<i64>)> {
    let (mut to_cover, mut to_put_back) = (Vec::new(), Vec::new());
    for (id, _, text, is_covered) in rows {
        let is_to_be = match source {
            Source::Covered => false,
            Source::Owner(_) => true,
            Source::Addresses | Source::Targets => covers(LookedAt { kind, value, text })?,
        };
        if is_to_be && !is_covered {
            to_cover.push(*id);
        } else if !is_to_be && *is_covered {
            to_put_back.push(*id);
        }
    }
    Some((to_cover, to_put_back))
}

/// Removals, and the work on their links.
#[async_trait]
pub trait Removals: Send + Sync {
    /// Takes something away, and notes that for the audit, in one short transaction. A link is removed with it, and an account
    /// is banned: its tokens, sessions and keys end. The links of anything but a link are removed by [`Removals::step`].
    async fn remove(&self, removal: NewRemoval<'_>) -> Result<Removed, StoreError>;

    /// Takes a removal back, and notes that for the audit. A link is followed again with it, unless another removal covers it,
    /// and an account may log in again; other links are put back by [`Removals::step`]. `None`: no removal in force has this
    /// number.
    async fn revoke(
        &self,
        id: RemovalId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<Option<(Removal, Vec<Change>)>, StoreError>;

    /// Up to `limit` removals before `before`, newest first.
    async fn removals(
        &self,
        before: Option<RemovalId>,
        limit: u32,
    ) -> Result<Vec<Removal>, StoreError>;

    /// The removal of this target that is in force.
    async fn in_force(&self, target: &RemovalTarget) -> Result<Option<RemovalId>, StoreError>;

    /// Why the link with this code is removed: the reason of the removal that it is answered by.
    async fn reason_of(&self, code: &ShortCode) -> Result<Option<String>, StoreError>;

    /// Which of these patterns of hosts are removed.
    async fn removed_hosts(&self, patterns: &[String]) -> Result<Vec<String>, StoreError>;

    /// Has all links looked at anew, where `digest` names another blocklist than the one before.
    async fn begin_blocklist(&self, digest: &str, at: Timestamp) -> Result<bool, StoreError>;

    /// Whether all links were looked at that a removal covers, or covered; those that were just being made are looked at once
    /// more.
    async fn is_scanned(&self, id: RemovalId) -> Result<bool, StoreError>;

    /// Works on a removal for up to [`LOOKED_AT_IN_STEP`] links, in one short transaction. `None`: there is nothing to do now,
    /// or other instances are at it.
    async fn step(&self, covers: Covers<'_>, now: Timestamp) -> Result<Option<Step>, StoreError>;
}
