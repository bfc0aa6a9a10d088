//! At which host a link of another service is here.
//!
//! A host that is served here keeps its links. A host that is not served here is the other service's own, which moves to the
//! service's own host, if the file names no such host before. Links of any further host are refused: at the service's own host
//! they would be mixed with the others.

use std::collections::HashMap;

use super::note::Note;
use super::place::Place;
use super::reading::ReadLink;
use crate::domain::{DomainHost, FieldEdit};

/// Hosts of one file at most: as many as a service has.
const MAX_HOSTS: usize = 10_000;

/// Where the links of one file go.
#[derive(Debug, Default)]
pub struct Placing {
    /// The host that moves to the service's own host.
    moved: Option<String>,
    /// Whether hosts are served here, by their names.
    served: HashMap<String, bool>,
    has_hosts: bool,
}

/// What becomes of a host.
enum Found {
    Served,
    Moved(String),
    Refused(String),
}

impl Placing {
    /// Of a file of which this host moves, if that is known.
    #[must_use]
    pub fn of(moved: Option<String>) -> Self {
        Self {
            moved,
            ..Self::default()
        }
    }

    /// Whether a link was at a host that may be served here.
    #[must_use]
    pub fn has_hosts(&self) -> bool {
        self.has_hosts
    }

    /// Puts a link to its host, or says why it is refused. `is_served` is asked once for each host: the service's own is one, too.
    ///
    /// # Errors
    /// Those of `is_served`.
    pub fn place<E>(
        &mut self,
        read: &mut ReadLink,
        is_served: &mut dyn FnMut(&str) -> Result<bool, E>,
    ) -> Result<(), E> {
        let (host, may_move) = match std::mem::take(&mut read.place) {
            Place::Own => return self.leave_others(read, None, is_served),
            Place::Host(host) => (host, true),
            Place::Second(host) => (host, false),
        };
        self.has_hosts = true;
        match self.find(&host, may_move, is_served)? {
            Found::Served => {
                read.link.fields.domain = FieldEdit::Set(host.clone());
                self.leave_others(read, Some(&host), is_served)
            }
            Found::Moved(name) => {
                read.moved_from = Some(name);
                self.leave_others(read, None, is_served)
            }
            Found::Refused(why) => {
                // The list of refused links has it.
                read.link.fields.domain = FieldEdit::Set(host);
                read.misplaced = Some(why);
                Ok(())
            }
        }
    }

    fn find<E>(
        &mut self,
        host: &str,
        may_move: bool,
        is_served: &mut dyn FnMut(&str) -> Result<bool, E>,
    ) -> Result<Found, E> {
        let Ok(parsed) = DomainHost::parse(host) else {
            return Ok(Found::Refused(format!("domain: {host:?} is not a host")));
        };
        let name = parsed.name();
        if self.is_served(&parsed, is_served)? {
            return Ok(Found::Served);
        }
        if may_move && self.moved.is_none() {
            self.moved = Some(name.to_owned());
        }
        if self.moved.as_deref() == Some(name) {
            return Ok(Found::Moved(name.to_owned()));
        }
        let other = match &self.moved {
            Some(moved) => format!(", and the service's own host has the links of {moved}"),
            None => String::new(),
        };
        Ok(Found::Refused(format!(
            "domain: {name} is not a host of this service{other}; have the host added, or import the link without its host"
        )))
    }

    fn is_served<E>(
        &mut self,
        host: &DomainHost,
        is_served: &mut dyn FnMut(&str) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let name = host.name();
        if let Some(known) = self.served.get(name) {
            return Ok(*known);
        }
        if self.served.len() >= MAX_HOSTS {
            return Ok(false);
        }
        let served = is_served(name)?;
        self.served.insert(name.to_owned(), served);
        Ok(served)
    }

    /// Leaves short URLs behind that are at another host here than their link.
    fn leave_others<E>(
        &mut self,
        read: &mut ReadLink,
        host: Option<&str>,
        is_served: &mut dyn FnMut(&str) -> Result<bool, E>,
    ) -> Result<(), E> {
        let name_of = |host: &str| DomainHost::parse(host).map(|host| host.name().to_owned());
        let own = host.and_then(|host| name_of(host).ok());
        for (code, url) in std::mem::take(&mut read.other_urls) {
            let Place::Host(other) = Place::of_url(&url) else {
                continue;
            };
            let Ok(other) = DomainHost::parse(&other) else {
                continue;
            };
            if own.as_deref() == Some(other.name()) {
                continue;
            }
            let is_moved = self.moved.as_deref() == Some(other.name());
            if (is_moved && own.is_some()) || self.is_served(&other, is_served)? {
                let aliases = read.link.fields.aliases.as_given();
                let kept = aliases
                    .into_iter()
                    .flatten()
                    .filter(|alias| **alias != code);
                let kept: Vec<_> = kept.cloned().collect();
                read.link.fields.aliases =
                    FieldEdit::set_if(Some(kept).filter(|codes| !codes.is_empty()));
                read.link.notes.push((Note::OtherHost, url));
            }
        }
        Ok(())
    }
}
