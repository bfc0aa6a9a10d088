//! What administrators see of links, accounts and reports.

use std::collections::BTreeSet;

use super::{Abuse, AbuseError, Administrator, searching};
use crate::domain::{
    InvalidSearchText, Newest, NewestWanted, Removal, Report, SearchText, SeenLink, SeenUser,
    ShortCode, UserId,
};
use crate::limits::{TooMany, Turn};
use crate::store::StoreError;

impl Abuse {
    /// A code as people write it: of another host with that host.
    #[must_use]
    pub fn shown_code(&self, code: &ShortCode) -> String {
        self.hosts.shown_key(code.as_key())
    }

    /// What a removal took away, as people write it.
    #[must_use]
    pub fn shown_value(&self, removal: &Removal) -> String {
        match removal.kind.as_str() {
            "link" => self.hosts.shown_key(&removal.value),
            _ => removal.value.clone(),
        }
    }

    /// The text that links are searched for; a short URL of another host is looked for as the database has its code.
    ///
    /// # Errors
    /// [`InvalidSearchText`].
    pub fn searched(&self, raw: &str) -> Result<Option<SearchText>, InvalidSearchText> {
        let short_url = raw.trim();
        let short_url = short_url
            .split_once("://")
            .map_or(short_url, |(_, rest)| rest);
        let code = self.hosts.parse_code(short_url.trim_end_matches('/'));
        match code.filter(|code| !code.domain().is_own()) {
            Some(code) => SearchText::parse(code.as_key()),
            None => SearchText::parse(raw),
        }
    }

    /// Links of all accounts; an administrator searches one after the other. That an administrator saw where a link with a
    /// password leads is noted for the audit.
    ///
    /// # Errors
    /// [`AbuseError::TooMany`] where many searches of this administrator wait; [`AbuseError::Store`].
    pub async fn links(
        &self,
        by: &Administrator,
        wanted: &NewestWanted,
    ) -> Result<Newest<SeenLink>, AbuseError> {
        let _turn = self.turn(by).await?;
        let found = searching::links(&self.store, wanted).await?;
        let protected = found.entries.iter().filter(|link| link.has_password);
        let codes = protected.map(|link| &link.code).collect();
        self.note_seen_targets(by, codes).await?;
        Ok(found)
    }

    /// Notes for the audit that an administrator saw where these links with a password lead.
    pub(super) async fn note_seen_targets(
        &self,
        by: &Administrator,
        codes: BTreeSet<&ShortCode>,
    ) -> Result<(), StoreError> {
        if codes.is_empty() {
            return Ok(());
        }
        let codes: Vec<_> = codes
            .into_iter()
            .map(|code| self.shown_code(code))
            .collect();
        let codes = codes.join(", ");
        let noted = self
            .store
            .note_seen_targets(&codes, by.actor(), self.clock.now());
        noted.await?;
        by.log(&format!("saw the targets of links with passwords: {codes}"));
        Ok(())
    }

    /// Accounts, as [`Abuse::links`].
    ///
    /// # Errors
    /// As [`Abuse::links`].
    pub async fn accounts(
        &self,
        by: &Administrator,
        wanted: &NewestWanted,
    ) -> Result<Newest<SeenUser>, AbuseError> {
        let _turn = self.turn(by).await?;
        Ok(searching::accounts(&self.store, wanted).await?)
    }

    /// The turn of an administrator for a search; the operator has a process of its own.
    pub(super) async fn turn(&self, by: &Administrator) -> Result<Option<Turn>, TooMany> {
        match by.user {
            Some(user) => self.searches.turn(user).await.map(Some),
            None => Ok(None),
        }
    }

    /// The account with this number.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn account(&self, user: UserId) -> Result<SeenUser, AbuseError> {
        let found = self.store.seen_users(&[user.0]).await?;
        // A deleted account has no address.
        let found = found
            .into_iter()
            .find(|user| !user.email.as_str().is_empty());
        found.ok_or(AbuseError::Unknown)
    }

    /// The link with this code, also by an alias. What is said of [`Abuse::links`] about passwords holds for it, too.
    ///
    /// # Errors
    /// [`AbuseError::Unknown`], [`AbuseError::Store`].
    pub async fn seen_link(
        &self,
        by: &Administrator,
        code: &ShortCode,
    ) -> Result<SeenLink, AbuseError> {
        let found = self.store.seen_link(code).await?;
        let found = found.ok_or(AbuseError::Unknown)?;
        let protected = found.has_password.then_some(&found.code);
        self.note_seen_targets(by, protected.into_iter().collect())
            .await?;
        Ok(found)
    }

    /// Reports of links. What is said of [`Abuse::links`] about passwords holds for them, too.
    ///
    /// # Errors
    /// [`AbuseError::Store`].
    pub async fn reports(
        &self,
        by: &Administrator,
        wanted: &NewestWanted,
    ) -> Result<Newest<Report>, AbuseError> {
        let found = self.store.reports(wanted).await?;
        let protected = found.entries.iter().filter(|report| report.has_password);
        let codes = protected.map(|report| &report.code).collect();
        self.note_seen_targets(by, codes).await?;
        Ok(found)
    }
}
