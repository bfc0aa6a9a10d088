//! What was sent to a receiver, and what waits.

use super::type_text;
use crate::domain::{EventType, Timestamp};
use crate::store::Delivery;
use crate::web::language::Language;

/// A delivery of the list.
pub(super) struct Row {
    pub(super) event: String,
    /// What happened.
    pub(super) what: String,
    /// When it was put in line.
    pub(super) made: String,
    pub(super) is_done: bool,
    /// What became of it.
    pub(super) state: String,
    /// How many times it was sent, and the status of the last answer.
    pub(super) attempts: String,
    /// Why the receiver did not take it the last time; may be empty.
    pub(super) error: String,
    /// What its button does.
    pub(super) replay: String,
}

impl Row {
    /// A delivery of a hook that is on, or not.
    pub(super) fn of(delivery: Delivery, is_on: bool, now: Timestamp, language: Language) -> Self {
        let with = |name, at| language.with(name, &[("moment", &language.minute(at))]);
        let state = match (delivery.done_at, delivery.next_at) {
            (Some(done), _) => with("hooks_taken", done),
            (None, _) if !is_on => language.text("hooks_waits_off").to_owned(),
            (None, Some(next)) if next > now => with("hooks_next", next),
            (None, Some(_)) => language.text("hooks_sent_soon").to_owned(),
            (None, None) => language.text("hooks_waits_link").to_owned(),
        };
        let attempts = language.count("hooks_attempts", delivery.attempts);
        let of = EventType::parse(&delivery.of);
        let error = delivery.error.as_deref();
        Self {
            what: of.map_or(delivery.of, |of| language.text(type_text(of)).to_owned()),
            made: language.minute(delivery.made_at),
            is_done: delivery.done_at.is_some(),
            state,
            attempts: match delivery.status {
                None => attempts,
                Some(status) => {
                    let status = status.to_string();
                    let values = [("attempts", attempts.as_str()), ("status", &status)];
                    language.with("hooks_answered", &values)
                }
            },
            error: error.map_or_else(String::new, |error| language.fault(error)),
            replay: language.with("hooks_replay_named", &[("event", &delivery.event_id)]),
            event: delivery.event_id,
        }
    }
}
