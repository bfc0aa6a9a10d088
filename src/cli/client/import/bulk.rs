//! Sends the batches of an import: again if the service is busy or away, and no faster than its limits allow.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use shunt::import::ImportedLink;
use shunt::wire::LinkBody;

use super::progress_bar::ProgressBar;
use crate::cli::client::Failure;
use crate::cli::client::api::{Api, Call, Retry, Setback};

/// How often one batch is sent to a service that is busy or away: for about five minutes.
const ATTEMPTS: u32 = 14;
/// Longest wait between two attempts that the service does not name.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// The wait for a limit that names no time; limits are per minute.
const LIMIT_WAIT: Duration = Duration::from_mins(1);

/// The service could not make a link, after it had made others of the batch.
const NOT_NOW: u16 = 503;

/// Links that are asked for at once.
const AT_ONCE: usize = 8;

/// A code, and its host unless that is the service's own.
type Code<'a> = (&'a str, Option<&'a str>);

/// The service's word on one link.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    pub(super) status: u16,
    pub(super) detail: Option<String>,
}

impl Outcome {
    /// The service failed in the middle of a batch.
    fn setback(&self) -> Setback {
        let why = self.detail.as_deref().unwrap_or("the service is away");
        Setback {
            failure: Failure::Failed(why.to_owned()),
            retry: Retry::Soon(None),
        }
    }
}

/// Posts batches as one user.
pub(super) struct Bulk<'a> {
    api: &'a Api,
    token: &'a str,
    bar: &'a ProgressBar,
    /// Links of one request at most: a proxy may take no more.
    at_once: AtomicUsize,
    /// Asks what would become of the links, and makes none.
    is_dry_run: bool,
    /// When a wait ends that was announced: several requests that fail together wait together.
    waits_until: Mutex<Option<Instant>>,
}

impl<'a> Bulk<'a> {
    /// For imports of the user with this token.
    pub(super) fn new(
        api: &'a Api,
        token: &'a str,
        bar: &'a ProgressBar,
        is_dry_run: bool,
    ) -> Self {
        Self {
            api,
            token,
            bar,
            at_once: AtomicUsize::new(usize::MAX),
            is_dry_run,
            waits_until: Mutex::new(None),
        }
    }

    /// Sends links; one outcome comes back for each. Says, too, whether they were sent more than once.
    pub(super) fn send(&self, links: &[&ImportedLink]) -> Result<(Vec<Outcome>, bool), Failure> {
        let mut outcomes = Vec::with_capacity(links.len());
        let mut was_repeated = false;
        while outcomes.len() < links.len() {
            let rest = &links[outcomes.len()..];
            let part = &rest[..rest.len().min(self.at_once.load(Ordering::Relaxed))];
            match self.post(part)? {
                Some((posted, attempts)) => {
                    outcomes.extend(posted);
                    was_repeated |= attempts > 1;
                }
                None => self.at_once.store(part.len() / 2, Ordering::Relaxed),
            }
        }
        Ok((outcomes, was_repeated))
    }

    /// Sends links in one request, and says how often that was sent; `None`: they are too many for one.
    fn post(&self, links: &[&ImportedLink]) -> Result<Option<(Vec<Outcome>, u32)>, Failure> {
        let body = serde_json::to_string(links).map_err(|error| Failure::of(&error))?;
        let attempts = Cell::new(0_u32);
        let query: &[_] = if self.is_dry_run {
            &[("dry_run", "true")]
        } else {
            &[]
        };
        let outcomes: Option<Vec<Outcome>> = self.patiently(|| {
            attempts.set(attempts.get() + 1);
            let call = Call::post("/urls/bulk").query(query).token(self.token);
            match self.api.read(call.json_text(body.clone())) {
                Err(setback) if setback.retry == Retry::Smaller && links.len() > 1 => Ok(None),
                Err(setback) => Err(setback),
                Ok(outcomes) => {
                    let outcomes: Vec<Outcome> = outcomes;
                    // Every link has a code of its own: one that is made already is found then.
                    match outcomes.iter().find(|outcome| outcome.status == NOT_NOW) {
                        Some(late) => Err(late.setback()),
                        None => Ok(Some(outcomes)),
                    }
                }
            }
        })?;
        let Some(outcomes) = outcomes else {
            return Ok(None);
        };
        if outcomes.len() != links.len() {
            return Err(Failure::Failed(format!(
                "{} returned {} results for {} links; is the address right?",
                self.api.service(),
                outcomes.len(),
                links.len()
            )));
        }
        Ok(Some((outcomes, attempts.get())))
    }

    /// The user's own links with these codes, each at its host; `None`: the code is another's, or was. Several are asked for at once.
    pub(super) fn own_links(&self, codes: &[Code<'_>]) -> Result<Vec<Option<LinkBody>>, Failure> {
        let share = codes.len().div_ceil(AT_ONCE).max(1);
        thread::scope(|scope| {
            let ask = |codes: &[Code<'_>]| {
                let links = codes.iter().map(|code| self.own_link(*code));
                links.collect::<Result<Vec<_>, _>>()
            };
            let shares = codes
                .chunks(share)
                .map(|codes| scope.spawn(move || ask(codes)));
            let shares: Vec<_> = shares.collect();
            let mut links = Vec::with_capacity(codes.len());
            for share in shares {
                let asked = share.join();
                links.extend(asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(links)
        })
    }

    fn own_link(&self, (code, host): Code<'_>) -> Result<Option<LinkBody>, Failure> {
        let path = format!("/urls/{code}");
        let query: Vec<_> = host.into_iter().map(|host| ("domain", host)).collect();
        let call = || Call::get(&path).query(&query).token(self.token);
        match self.patiently(|| self.api.read(call())) {
            Ok(link) => Ok(Some(link)),
            Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Whether a host is one of the service, its own included.
    pub(super) fn serves(&self, host: &str) -> Result<bool, Failure> {
        let query = [("domain", host)];
        let call = || Call::get("/domains/ask").query(&query);
        match self.patiently(|| self.api.read::<Value>(call())) {
            Ok(_) => Ok(true),
            Err(Failure::NotFound(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// The account to which the links go.
    pub(super) fn account(&self) -> Result<i64, Failure> {
        let call = Call::get("/auth/me").token(self.token);
        let account: Value = self.api.read(call)?;
        let id = account["id"].as_i64();
        id.ok_or_else(|| Failure::Failed("the service names no account".into()))
    }

    fn patiently<T>(&self, attempt: impl Fn() -> Result<T, Setback>) -> Result<T, Failure> {
        let mut failed = 0;
        loop {
            let setback = match attempt() {
                Ok(done) => return Ok(done),
                Err(setback) => setback,
            };
            let wait = match setback.retry {
                Retry::Never | Retry::Smaller => return Err(setback.failure),
                Retry::Soon(_) if failed + 1 >= ATTEMPTS => {
                    return Err(match setback.failure {
                        Failure::Unavailable(why) => Failure::Unavailable(format!(
                            "gave up after {ATTEMPTS} attempts: {why}"
                        )),
                        other => other,
                    });
                }
                Retry::Soon(named) => {
                    failed += 1;
                    named
                        .unwrap_or_else(|| Duration::from_secs(1 << failed.min(5)))
                        .min(MAX_WAIT)
                }
                Retry::AtLimit(named) => named.unwrap_or(LIMIT_WAIT),
            };
            thread::sleep(self.announced_wait(wait, &setback.failure));
        }
    }

    /// Announces a wait, or finds that it was announced already by a request that failed at the same time. Returns its rest.
    fn announced_wait(&self, wait: Duration, failure: &Failure) -> Duration {
        let mut until = self
            .waits_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(rest) = until.and_then(|until| until.checked_duration_since(now)) {
            return rest;
        }
        *until = Some(now + wait);
        self.bar.note_wait(wait, failure);
        wait
    }
}
