//! Creating many links in one call.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::passwords::MAX_AT_ONCE;
use super::refused::Leads;
use super::shorten::DRAWS;
use super::{LinkError, LinkService};
use crate::domain::{CustomCode, LinkId, LinkRequest, Principal, ShortCode, Timestamp};
use crate::limits::Daily;
use crate::store::{CreatedOfMany, NewLink};
use crate::telemetry::metrics::BULK_LINKS;

/// A link that was created among many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BulkLink {
    /// Its number.
    pub id: LinkId,
    /// Its code.
    pub code: ShortCode,
}

/// The outcome for one link of many.
pub type BulkOutcome = Result<BulkLink, LinkError>;

/// A link that is still to be created, at its place in the call.
struct Pending<'a> {
    place: usize,
    request: &'a LinkRequest,
    code: ShortCode,
}

impl LinkService {
    /// Counts links that are to be created in one call, or looked at.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the owner may not create so many links now.
    pub async fn begin_bulk(
        &self,
        owner: Principal,
        links: usize,
        are_made: bool,
    ) -> Result<(), LinkError> {
        let account = owner.user.0;
        // A look beforehand does not take from what may be made.
        let account = if are_made {
            account.to_string()
        } else {
            format!("{account} dry run")
        };
        let counted = u32::try_from(links).unwrap_or(u32::MAX);
        self.limiter.count_bulk(&account, counted).await?;
        if are_made {
            metrics::histogram!(BULK_LINKS).record(counted);
        }
        Ok(())
    }

    /// Whether links could be created: the outcome for each, in their order. No link is created.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn check_many(
        &self,
        owner: Principal,
        requests: &[&LinkRequest],
    ) -> Result<Vec<Result<(), LinkError>>, LinkError> {
        let (placed, refused) = self.placed_each(owner, requests).await?;
        let requests: Vec<_> = placed.iter().map(AsRef::as_ref).collect();
        let checked = self.check_placed(owner, &requests).await?;
        Ok(with_refused(checked, refused))
    }

    async fn check_placed(
        &self,
        owner: Principal,
        requests: &[&LinkRequest],
    ) -> Result<Vec<Result<(), LinkError>>, LinkError> {
        let now = self.clock.now();
        let leads = requests
            .iter()
            .map(|request| Leads::of(&request.properties));
        let refused = self.refused_targets(&leads.collect::<Vec<_>>()).await?;
        let codes = requests
            .iter()
            .filter_map(|request| request.custom_code.as_ref());
        let aliases = (requests.iter()).flat_map(|request| request.properties.aliases.as_slice());
        let codes: Vec<_> = codes.map(CustomCode::as_code).chain(aliases).collect();
        let mut taken = self.store.taken_codes(owner.user, &codes).await?;
        let mut passwords = 0;
        let check = |(place, request): (usize, &&LinkRequest)| {
            if let Some(field) = refused.get(&place) {
                return Err(LinkError::TargetRefused(field));
            }
            self.check_countries(request.properties.rules.as_ref())?;
            if request.has_ended(now) {
                return Err(LinkError::EndsInPast);
            }
            passwords += usize::from(request.new_password.is_some());
            if request.new_password.is_some() && passwords > MAX_AT_ONCE {
                return Err(LinkError::ManyPasswords);
            }
            // The first of several with the same code would have it.
            let code = request.custom_code.as_ref().map(CustomCode::as_code);
            if code.is_some_and(|code| !taken.insert(code.clone())) {
                return Err(LinkError::CodeTaken);
            }
            let mut aliases = request.properties.aliases.as_slice().iter();
            match aliases.find(|code| !taken.insert((*code).clone())) {
                Some(code) => Err(LinkError::AliasTaken(code.clone())),
                None => Ok(()),
            }
        };
        Ok(requests.iter().enumerate().map(check).collect())
    }

    /// Creates many links; returns the outcome for each, in their order. A link that fails does not stop the others. If the
    /// database fails in the middle, that is the outcome of the links that are not created.
    ///
    /// # Errors
    /// [`LinkError::OwnerGone`], [`LinkError::Store`], [`LinkError::NoCode`]: then no link is created, unless the answer of the
    /// database was lost.
    pub async fn shorten_many(
        &self,
        owner: Principal,
        requests: &[&LinkRequest],
        address: &str,
    ) -> Result<Vec<BulkOutcome>, LinkError> {
        let (placed, refused) = self.placed_each(owner, requests).await?;
        let requests: Vec<_> = placed.iter().map(AsRef::as_ref).collect();
        let made = self.shorten_placed(owner, &requests, address).await?;
        Ok(with_refused(made, refused))
    }

    /// Each request at the host that it names, and the places of refused requests.
    async fn placed_each<'a>(
        &self,
        owner: Principal,
        requests: &[&'a LinkRequest],
    ) -> Result<(Vec<Cow<'a, LinkRequest>>, Vec<usize>), LinkError> {
        let (mut placed, mut refused) = (Vec::new(), Vec::new());
        let mut may_use = HashMap::new();
        for (place, request) in requests.iter().enumerate() {
            match self.placed_of_many(owner, request, &mut may_use).await {
                Ok(request) => placed.push(request),
                Err(LinkError::DomainRefused) => refused.push(place),
                Err(error) => return Err(error),
            }
        }
        Ok((placed, refused))
    }

    async fn shorten_placed(
        &self,
        owner: Principal,
        requests: &[&LinkRequest],
        address: &str,
    ) -> Result<Vec<BulkOutcome>, LinkError> {
        let mut hashed = Vec::new();
        let mut passwords = 0;
        for request in requests {
            passwords += usize::from(request.new_password.is_some());
            // A request that is past the limit is refused below.
            hashed.push(if passwords > MAX_AT_ONCE {
                Cow::Borrowed(*request)
            } else {
                self.hashed(request, address).await?
            });
        }
        let requests: Vec<_> = hashed.iter().map(AsRef::as_ref).collect();
        let requests = &requests[..];
        let properties = requests.iter().map(|request| &request.properties);
        let bytes = self.add_bytes(address, properties).await?;
        let made = self.shorten_counted(owner, requests, address).await;
        let is_none_made = made
            .as_ref()
            .map_or(true, |outcomes| outcomes.iter().all(Result::is_err));
        if is_none_made {
            self.limiter.refund_today(Daily::LinkBytes, address, bytes);
        }
        made
    }

    async fn shorten_counted(
        &self,
        owner: Principal,
        requests: &[&LinkRequest],
        address: &str,
    ) -> Result<Vec<BulkOutcome>, LinkError> {
        let now = self.clock.now();
        let mut outcomes = Vec::new();
        outcomes.resize_with(requests.len(), || Err(LinkError::CodeTaken));
        let (mut chosen, mut drawn) = (Vec::new(), Vec::new());
        let mut codes = HashSet::new();
        let leads = requests
            .iter()
            .map(|request| Leads::of(&request.properties));
        let refused = self.refused_targets(&leads.collect::<Vec<_>>()).await?;
        for (place, request) in requests.iter().copied().enumerate() {
            if let Some(field) = refused.get(&place) {
                outcomes[place] = Err(LinkError::TargetRefused(field));
            } else if let Err(unknown) = self.check_countries(request.properties.rules.as_ref()) {
                outcomes[place] = Err(unknown);
            } else if request.has_ended(now) {
                outcomes[place] = Err(LinkError::EndsInPast);
            } else if request.new_password.is_some() && request.properties.password.is_none() {
                outcomes[place] = Err(LinkError::ManyPasswords);
            } else if let Some(code) = &request.custom_code {
                // The first of several with the same code has it.
                if codes.insert(code.as_code()) {
                    let code = code.as_code().clone();
                    chosen.push(Pending {
                        place,
                        request,
                        code,
                    });
                }
            } else {
                let code = self.draw_code()?.at(request.at);
                drawn.push(Pending {
                    place,
                    request,
                    code,
                });
            }
        }
        let maker = (owner, address);
        self.create_pending(maker, now, &chosen, &mut outcomes)
            .await?;
        match self.create_drawn(maker, now, drawn, &mut outcomes).await {
            // Links that are created stay: their outcomes are reported.
            Err((error, drawn)) if outcomes.iter().any(Result::is_ok) => {
                for link in drawn {
                    outcomes[link.place] = Err(same(&error));
                }
                Ok(outcomes)
            }
            Err((error, _)) => Err(error),
            Ok(()) => Ok(outcomes),
        }
    }

    /// Creates links with drawn codes. If the database fails, the links that are not created come back.
    async fn create_drawn<'a>(
        &self,
        maker: (Principal, &str),
        now: Timestamp,
        mut drawn: Vec<Pending<'a>>,
        outcomes: &mut [BulkOutcome],
    ) -> Result<(), (LinkError, Vec<Pending<'a>>)> {
        for _ in 0..DRAWS {
            if drawn.is_empty() {
                return Ok(());
            }
            if let Err(error) = self.create_pending(maker, now, &drawn, outcomes).await {
                return Err((error, drawn));
            }
            // The code belongs to another link: a new code is drawn.
            drawn.retain(|link| matches!(outcomes[link.place], Err(LinkError::CodeTaken)));
            for place in 0..drawn.len() {
                match self.draw_code() {
                    Ok(code) => drawn[place].code = code.at(drawn[place].request.at),
                    Err(error) => return Err((error, drawn)),
                }
            }
        }
        if drawn.is_empty() {
            return Ok(());
        }
        Err((LinkError::NoCode("every draw was taken".into()), drawn))
    }

    async fn create_pending(
        &self,
        (owner, address): (Principal, &str),
        now: Timestamp,
        pending: &[Pending<'_>],
        outcomes: &mut [BulkOutcome],
    ) -> Result<(), LinkError> {
        if pending.is_empty() {
            return Ok(());
        }
        let max_links = self.limits.get().links_per_account;
        let new = pending.iter().map(|link| NewLink {
            is_chosen: link.request.custom_code.is_some(),
            clicks: link.request.clicks,
            address: self.kept_address(address),
            ..NewLink::new(&link.code, &link.request.properties, owner, now)
        });
        let new: Vec<_> = new.collect();
        let created = self.store.create_links(&new, max_links).await;
        let created = created.map_err(|error| LinkError::of_new_link(error, max_links))?;
        let mut changes = Vec::new();
        for (link, created) in pending.iter().zip(created) {
            outcomes[link.place] = match created {
                Ok(CreatedOfMany {
                    id,
                    changes: of_link,
                }) => {
                    changes.extend(of_link);
                    let code = link.code.clone();
                    Ok(BulkLink { id, code })
                }
                Err(error) => Err(LinkError::of_new_link(error, max_links)),
            };
        }
        self.announce_all(&changes).await;
        Ok(())
    }
}

/// The outcomes of all requests: those at these places are refused for their host.
fn with_refused<T>(
    made: Vec<Result<T, LinkError>>,
    refused: Vec<usize>,
) -> Vec<Result<T, LinkError>> {
    let mut outcomes = made;
    // By rising places, so that each is where it was.
    for place in refused {
        outcomes.insert(place, Err(LinkError::DomainRefused));
    }
    outcomes
}

/// The error of a call as that of one of its links.
fn same(error: &LinkError) -> LinkError {
    match error {
        LinkError::Store(error) => LinkError::Store(error.clone()),
        LinkError::OwnerGone => LinkError::OwnerGone,
        other => LinkError::NoCode(other.to_string()),
    }
}
