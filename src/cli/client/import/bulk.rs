//! Batches of an import on their way to the service: sent again where it is busy or away, slowed down by its limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::link::ImportedLink;
use super::progress_bar::ProgressBar;
use crate::cli::client::Failure;
use crate::cli::client::api::{Api, Call, Link, Retry, Setback};

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
}

impl<'a> Bulk<'a> {
    /// For imports of the user with this token.
    pub(super) fn new(api: &'a Api, token: &'a str, bar: &'a ProgressBar) -> Self {
        let at_once = AtomicUsize::new(usize::MAX);
        Self {
            api,
            token,
            bar,
            at_once,
        }
    }

    /// Sends links; one outcome comes back for each.
    pub(super) fn send(&self, links: &[&ImportedLink]) -> Result<Vec<Outcome>, Failure> {
        let mut outcomes = Vec::with_capacity(links.len());
        while outcomes.len() < links.len() {
            let rest = &links[outcomes.len()..];
            let part = &rest[..rest.len().min(self.at_once.load(Ordering::Relaxed))];
            match self.post(part)? {
                Some(posted) => outcomes.extend(posted),
                None => self.at_once.store(part.len() / 2, Ordering::Relaxed),
            }
        }
        Ok(outcomes)
    }

    /// Sends links in one request; `None`: they are too many for one.
    fn post(&self, links: &[&ImportedLink]) -> Result<Option<Vec<Outcome>>, Failure> {
        let body = serde_json::to_string(links).map_err(|error| Failure::of(&error))?;
        let outcomes: Option<Vec<Outcome>> = self.patiently(|| {
            let call = Call::post("/urls/bulk").token(self.token);
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
                "{} answers {} links with {} results; is the address right?",
                self.api.service(),
                links.len(),
                outcomes.len()
            )));
        }
        Ok(Some(outcomes))
    }

    /// The targets of the user's own links; `None` where the code is another's, or was. Several are asked for at once.
    pub(super) fn own_targets(&self, codes: &[&str]) -> Result<Vec<Option<String>>, Failure> {
        let share = codes.len().div_ceil(AT_ONCE).max(1);
        thread::scope(|scope| {
            let ask = |codes: &'_ [&'_ str]| {
                let targets = codes.iter().map(|code| self.own_target(code));
                targets.collect::<Result<Vec<_>, _>>()
            };
            let shares = codes
                .chunks(share)
                .map(|codes| scope.spawn(move || ask(codes)));
            let shares: Vec<_> = shares.collect();
            let mut targets = Vec::with_capacity(codes.len());
            for share in shares {
                let asked = share.join();
                targets.extend(asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok(targets)
        })
    }

    fn own_target(&self, code: &str) -> Result<Option<String>, Failure> {
        let path = format!("/urls/{code}");
        let link = self.patiently(|| self.api.read::<Link>(Call::get(&path).token(self.token)));
        match link {
            Ok(link) => Ok(Some(link.target_url)),
            Err(Failure::NotFound(_)) => Ok(None),
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
                Retry::Soon(_) if failed + 1 >= ATTEMPTS => return Err(setback.failure),
                Retry::Soon(named) => {
                    failed += 1;
                    named
                        .unwrap_or_else(|| Duration::from_secs(1 << failed.min(5)))
                        .min(MAX_WAIT)
                }
                Retry::AtLimit(named) => named.unwrap_or(LIMIT_WAIT),
            };
            self.bar.note_wait(wait, &setback.failure);
            thread::sleep(wait);
        }
    }
}
