//! The location to which a client is redirected.

use std::sync::Arc;
use std::time::Instant;

use super::rules::Led;
use crate::cache::{CachedLink, Source};
use crate::clicks::ClickReceipt;
use crate::domain::{Location, LocationTooLong};

/// Where a client is redirected to. Only a counted click leads here: only recorders and grants
/// create a [`ClickReceipt`].
pub struct Redirected {
    link: Arc<CachedLink>,
    source: Source,
    kind: VisitKind,
    led: Led,
    /// The location with the visitor's query.
    forwarded: Option<Location>,
    /// Whether search engines are asked not to list any short link.
    noindex: bool,
}

/// Why the client may be redirected.
enum VisitKind {
    Click(ClickReceipt),
    /// A `HEAD` is answered like a visit and is not counted.
    Preview {
        at: Instant,
        /// Whether the response says how many rules the link has, as it follows none of them.
        shows_rules: bool,
    },
}

impl Redirected {
    pub(super) fn by_click(
        link: Arc<CachedLink>,
        source: Source,
        receipt: ClickReceipt,
        led: Led,
    ) -> Self {
        Self::new(link, source, VisitKind::Click(receipt), led)
    }

    /// Without `led` no rule is followed.
    pub(super) fn by_preview(
        link: Arc<CachedLink>,
        source: Source,
        at: Instant,
        led: Option<Led>,
    ) -> Self {
        let shows_rules = led.is_none();
        let kind = VisitKind::Preview { at, shows_rules };
        Self::new(link, source, kind, led.unwrap_or_default())
    }

    fn new(link: Arc<CachedLink>, source: Source, kind: VisitKind, led: Led) -> Self {
        Self {
            link,
            source,
            kind,
            led,
            forwarded: None,
            noindex: false,
        }
    }

    /// Where the link was found.
    pub(super) fn source(&self) -> Source {
        self.source
    }

    /// When the client could be redirected: nearly the moment of the response.
    #[must_use]
    pub fn at(&self) -> Instant {
        match &self.kind {
            VisitKind::Click(receipt) => receipt.at(),
            VisitKind::Preview { at, .. } => *at,
        }
    }

    /// The value of the `Location` header.
    #[must_use]
    pub fn location(&self) -> &Location {
        self.forwarded.as_ref().unwrap_or_else(|| self.target())
    }

    /// The location without a visitor's query.
    pub(super) fn target(&self) -> &Location {
        self.led.location(&self.link)
    }

    /// How many rules the link has, if the response follows none of them.
    #[must_use]
    pub fn rules_left_out(&self) -> usize {
        let is_shown = matches!(&self.kind, VisitKind::Preview { shows_rules, .. } if *shows_rules);
        let rules = self.link.rules().filter(|_| is_shown);
        rules.map_or(0, |rules| rules.len())
    }

    /// The location with the visitor's query, if the query was added.
    pub(super) fn forwarded(&self) -> Option<&Location> {
        self.forwarded.as_ref()
    }

    pub(super) fn with_noindex(self, noindex: bool) -> Self {
        Self { noindex, ..self }
    }

    /// Whether search engines are asked not to list the short link.
    #[must_use]
    pub fn noindex(&self) -> bool {
        self.noindex || self.link.options.noindex
    }

    /// Adds the query of the visitor's request to the location, if the link forwards it.
    pub(super) fn with_query(mut self, query: Option<&str>) -> Result<Self, LocationTooLong> {
        if let Some(query) = self.link.options.forwarded(query) {
            self.forwarded = self.target().with_query(query)?;
        }
        Ok(self)
    }
}
