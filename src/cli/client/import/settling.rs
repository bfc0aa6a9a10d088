//! Sends a batch and settles each of its links: created, already there, refused, or sent again with another code.

use shunt::domain::FieldEdit;
use shunt::wire::LinkBody;

use super::bulk::{Bulk, Outcome};
use super::drawing::Drawing;
use super::pending::Pending;
use crate::cli::client::Failure;

/// The code of a link is another's.
const TAKEN: u16 = 409;
/// The account has as many links as it may have.
const FULL: u16 = 403;

/// Posts batches, or asks what would become of them.
pub(super) struct Settling<'a> {
    pub(super) bulk: Bulk<'a>,
    pub(super) drawing: Drawing,
}

/// What became of a batch.
#[derive(Default)]
pub(super) struct Settled {
    /// The first link for which the account has no room, and the service's word on it.
    pub(super) full: Option<(usize, String)>,
    /// A request was sent more than once: the service may have carried it out before.
    pub(super) was_repeated: bool,
}

/// The outcome of a link, as the service's word on it means.
enum LinkOutcome {
    Made,
    /// It was there before, with so many clicks.
    There(u64),
    /// The drawn code is another link's.
    DrawAgain,
    Refused(String),
    /// The account has as many links as it may have.
    Full(String),
}

impl Settling<'_> {
    /// Posts the links that are not refused yet, and those again that need another code.
    pub(super) fn settle(&self, batch: &mut [Pending]) -> Result<Settled, Failure> {
        let mut settled = Settled::default();
        let is_open = |pending: &Pending| pending.refusal.is_none();
        let mut open: Vec<usize> = (0..batch.len()).filter(|at| is_open(&batch[*at])).collect();
        while !open.is_empty() && settled.full.is_none() {
            for at in &open {
                self.draw_code(&mut batch[*at]);
            }
            let links: Vec<_> = open.iter().map(|at| &batch[*at].read.link).collect();
            let (outcomes, was_repeated) = self.bulk.send(&links)?;
            settled.was_repeated |= was_repeated;
            let taken = links.iter().zip(&outcomes);
            let taken = taken.filter(|(_, outcome)| outcome.status == TAKEN);
            let codes = taken.filter_map(|(link, _)| Some((link.code()?, link.domain())));
            let codes: Vec<_> = codes.collect();
            let mut own_links = self.bulk.own_links(&codes)?.into_iter();
            let mut again = Vec::new();
            for (at, outcome) in open.into_iter().zip(outcomes) {
                let own_link = match outcome.status {
                    TAKEN => own_links.next().flatten(),
                    _ => None,
                };
                match outcome_of(&batch[at], outcome, own_link) {
                    LinkOutcome::Made => {}
                    LinkOutcome::There(clicks) => batch[at].was_there = Some(clicks),
                    LinkOutcome::DrawAgain => again.push(at),
                    LinkOutcome::Refused(why) => batch[at].refuse(&why),
                    LinkOutcome::Full(why) => {
                        settled.full = Some((at, why));
                        break;
                    }
                }
            }
            open = again;
        }
        // A link that waits for another code is sent again with those that the account has no room for.
        if let (Some((first, _)), Some(waiting)) = (&mut settled.full, open.first()) {
            *first = (*first).min(*waiting);
        }
        Ok(settled)
    }

    fn draw_code(&self, pending: &mut Pending) {
        if let Some(attempt) = pending.drawn {
            let code = self.drawing.code(pending, attempt);
            let code = FieldEdit::Set(code.as_str().to_owned());
            pending.read.link.fields.custom_code = code;
            pending.drawn = Some(attempt + 1);
        }
    }
}

/// The outcome of a link by the service's word, and by the user's own link that has its code.
fn outcome_of(pending: &Pending, outcome: Outcome, own: Option<LinkBody>) -> LinkOutcome {
    let status = outcome.status;
    let detail = outcome.detail.unwrap_or_else(|| format!("status {status}"));
    match (status, own) {
        (200, _) => LinkOutcome::Made,
        (FULL, _) => LinkOutcome::Full(detail),
        // A batch whose response was lost is sent again, and its links are there then. A drawn code is the user's only if
        // this very link got it, whatever its target is by now.
        (TAKEN, Some(own))
            if pending.drawn.is_some() || own.target_url == pending.read.link.target() =>
        {
            LinkOutcome::There(own.clicks)
        }
        (TAKEN, None) if pending.drawn.is_some() => LinkOutcome::DrawAgain,
        (TAKEN, Some(own)) => {
            LinkOutcome::Refused(format!("{detail} by your link to {}", own.target_url))
        }
        _ => LinkOutcome::Refused(detail),
    }
}
