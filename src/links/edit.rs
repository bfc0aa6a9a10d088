//! Changing a link.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use super::refused::Leads;
use super::{CountedLink, LinkError, LinkService, Revision};
use crate::domain::{Aliases, FieldEdit, Link, LinkEdit, LinkProperties, Principal, ShortCode};
use crate::limits::Daily;
use crate::store::{Edited, EditedLink, ToCount};

/// What an event of a change takes in the database for as long as it is kept, mostly.
pub(super) const EVENT_BYTES: u64 = 512;

/// How long an edit that is committed waits for an exact count.
const COUNTED_WITHIN: Duration = Duration::from_secs(2);

/// The state in which a client expects a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Any.
    Any,
    /// One of these revisions.
    OneOf(Vec<String>),
}

impl Expected {
    pub(super) fn is_met_by(&self, link: &Link) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(revisions) => {
                let current = Revision::of(link);
                revisions.iter().any(|known| known == current.as_str())
            }
        }
    }

    /// The properties of a link once it is edited, if it may be.
    fn edited(&self, link: &Link, edit: &LinkEdit) -> Result<LinkProperties, LinkError> {
        if link.removed.is_some() {
            return Err(LinkError::Removed);
        }
        if !self.is_met_by(link) {
            return Err(LinkError::NotAsExpected);
        }
        let edited = edit.apply(&link.properties)?;
        edited.aliases.beside(&link.code)?;
        Ok(edited)
    }
}

impl LinkService {
    /// Changes a link of this owner, for a client at `address`, and announces the change: once this returns, no instance that
    /// Redis can reach follows the old link. `None` if there is no such link, or it is another owner's. If exact clicks cannot
    /// be read, the database's count is used: a committed change is always answered.
    ///
    /// # Errors
    /// [`LinkError::NotAsExpected`], [`LinkError::Removed`], [`LinkError::TargetRefused`], [`LinkError::Invalid`],
    /// [`LinkError::AliasTaken`], [`LinkError::AliasTooShort`], [`LinkError::QuotaReached`], [`LinkError::TooMany`], [`LinkError::Count`], [`LinkError::Store`]: nothing is changed then, unless the database did not say so.
    pub async fn edit(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: &LinkEdit,
        expected: &Expected,
        address: &str,
    ) -> Result<Option<CountedLink>, LinkError> {
        // A link that is not there costs no hash.
        if edit.new_password.is_some() && self.store.link_of(owner, code).await?.is_none() {
            return Ok(None);
        }
        let hashed = self.hashed_edit(edit, address).await?;
        let edit = &*match &hashed.aliases {
            // They belong to the host of the link.
            Some(aliases) if !code.domain().is_own() => Cow::Owned(LinkEdit {
                aliases: Some(aliases.at(code.domain())),
                ..hashed.into_owned()
            }),
            _ => hashed,
        };
        if let Some(aliases) = &edit.aliases {
            self.count_new_aliases(owner, code, aliases).await?;
        }
        // A link can always be paused.
        let is_pause = *edit
            == LinkEdit {
                is_active: Some(false),
                ..LinkEdit::default()
            };
        let bytes = if is_pause {
            0
        } else {
            edit.text_bytes() + EVENT_BYTES
        };
        self.add_changed_bytes(address, bytes).await?;
        let edited = self.edit_counted(owner, code, edit, expected).await;
        if !matches!(edited, Ok(Some(_))) {
            self.limiter.refund_today(Daily::LinkBytes, address, bytes);
        }
        edited
    }

    /// Counts what a change of links adds to the database.
    pub(super) async fn add_changed_bytes(
        &self,
        address: &str,
        bytes: u64,
    ) -> Result<(), LinkError> {
        if bytes > 0 {
            self.limiter
                .add_today(Daily::LinkBytes, address, bytes)
                .await?;
        }
        Ok(())
    }

    /// Counts the codes that a link would get as links that are made: each is taken from everybody else for good.
    async fn count_new_aliases(
        &self,
        owner: Principal,
        code: &ShortCode,
        aliases: &Aliases,
    ) -> Result<(), LinkError> {
        let Some(link) = self.store.link_of(owner, code).await? else {
            return Ok(());
        };
        let new = aliases.without(&link.value.properties.aliases).count();
        let (account, new) = (owner.user.0.to_string(), u32::try_from(new));
        let counted = self.limiter.count_bulk(&account, new.unwrap_or(u32::MAX));
        Ok(counted.await?)
    }

    async fn edit_counted(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: &LinkEdit,
        expected: &Expected,
    ) -> Result<Option<CountedLink>, LinkError> {
        let leads = Leads {
            target: edit.target.as_ref(),
            fallback: edit.fallback.as_given(),
            rules: edit.rules.as_given(),
        };
        self.check_countries(leads.rules)?;
        if leads.is_any() {
            self.check_targets(leads).await?;
        }
        let least = match &edit.aliases {
            Some(aliases) => self.least_of_aliases(owner, aliases).await?,
            None => 0,
        };
        let counting = self.counts.begin();
        // Read before the count that the transaction reads, which is never older then.
        let written_up_to = self.counts.written_up_to().await?;
        let refusal = Mutex::new(LinkError::NotAsExpected);
        let edited = |link: &Link| {
            let note = |why| *refusal.lock().unwrap_or_else(PoisonError::into_inner) = why;
            let edited = expected.edited(link, edit).and_then(|edited| {
                let is_short = |code: &ShortCode| code.as_str().len() < least;
                if (edited.aliases.without(&link.properties.aliases)).any(is_short) {
                    return Err(LinkError::AliasTooShort(least));
                }
                if edited.text_bytes() > link.properties.text_bytes() {
                    self.room.check()?;
                }
                Ok(edited)
            });
            edited.map_err(note).ok()
        };
        let now = self.clock.now();
        let max_links = self.limits.get().links_per_account;
        let editing = (self.store).edit_link(owner, code, &edited, max_links, now);
        let EditedLink {
            link: ToCount {
                value: link,
                has_parked,
            },
            clicks: written,
            changes,
        } = match editing.await? {
            Edited::NotFound => return Ok(None),
            Edited::AliasTaken(code) => return Err(LinkError::AliasTaken(code)),
            Edited::QuotaReached => return Err(LinkError::quota_reached(max_links)),
            Edited::Refused => {
                return Err(refusal.into_inner().unwrap_or_else(PoisonError::into_inner));
            }
            Edited::Done(edited) => *edited,
        };
        // From here on nothing may fail.
        if !changes.is_empty() {
            self.announce_all(&changes).await;
        }
        let click = self.click_of(link.id, link.made_by, &link.code);
        if matches!(edit.max_clicks, FieldEdit::Set(_))
            && let Err(error) = self.before_limit.count(click).await
        {
            tracing::debug!(%error, "the limit of a link takes effect with its next visit");
        }
        match timeout(COUNTED_WITHIN, counting.of(&[click], has_parked)).await {
            // A link that was deleted meanwhile has no clicks.
            Ok(Ok(counted)) => {
                let clicks = counted.get(&link.id).copied();
                Ok(clicks.map(|clicks| CountedLink {
                    link,
                    clicks,
                    as_of: None,
                }))
            }
            Ok(Err(_)) | Err(_) => Ok(Some(CountedLink {
                link,
                clicks: written,
                as_of: Some(written_up_to),
            })),
        }
    }

    /// Checks whether [`LinkService::edit`] would change a link as it is now. `false` if there is no such link, or it is
    /// another owner's.
    ///
    /// # Errors
    /// [`LinkError::Removed`], [`LinkError::Invalid`], [`LinkError::Store`].
    pub async fn may_edit(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: &LinkEdit,
    ) -> Result<bool, LinkError> {
        let Some(found) = self.store.link_of(owner, code).await? else {
            return Ok(false);
        };
        Expected::Any.edited(&found.value, edit)?;
        Ok(true)
    }
}
