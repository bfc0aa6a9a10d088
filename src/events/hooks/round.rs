//! Sends what a receiver gets in one round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::stream::iter;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use super::sender::{Message, Receiver, Sender};
use crate::domain::Timestamp;
use crate::store::{Attempt, LeasedHook, Round};

/// Deliveries to a receiver that are on their way at once.
pub(super) const SIDE_BY_SIDE: usize = 8;

/// So long after it was leased no delivery of a hook begins, so that the lease lasts.
const BEGINS_WITHIN: Duration = Duration::from_secs(15);

/// The longest pause of a whole hook whose receiver takes nothing: what it did not see yet is tried that often.
const MAX_PAUSE: Duration = Duration::from_mins(1);

/// The pauses before a delivery is sent again; the last one stays.
const PAUSES: [Duration; 8] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(3),
    Duration::from_hours(6),
];

/// A hook whose receiver does not take a delivery for so long is switched off.
const GIVES_UP: Duration = Duration::from_hours(3 * 24);

/// A hook, and when it was leased by the monotonic clock.
pub(super) struct Leased {
    pub(super) hook: LeasedHook,
    pub(super) began: Instant,
}

impl Leased {
    /// The time by the clock of the database.
    pub(super) fn now(&self) -> Timestamp {
        self.hook.leased_at.after(self.began.elapsed())
    }
}

/// What became of some events.
#[derive(Default)]
pub(super) struct Sent {
    pub(super) attempts: Vec<Option<Attempt>>,
    pub(super) round: Round,
}

/// What is sent once, or once more.
pub(super) struct Outgoing<'a> {
    pub(super) event_id: &'a str,
    pub(super) body: &'a str,
    /// How many times it was sent already.
    pub(super) attempts: u32,
    pub(super) failing_since: Option<Timestamp>,
}

/// Sends events of different links side by side, until one is not taken; `None` if the receiver cannot be looked up now.
pub(super) async fn send_round(
    sender: &Sender,
    leased: &Leased,
    outgoing: Vec<Outgoing<'_>>,
) -> Option<Sent> {
    let hook = &leased.hook;
    if outgoing.is_empty() {
        return Some(Sent::default());
    }
    let receiver = sender.receiver(&hook.hook.url, &hook.secrets).await?;
    let ends = AtomicBool::new(false);
    let mut attempts: Vec<Option<Attempt>> = vec![None; outgoing.len()];
    let mut round = Round::default();
    let mut sending = Vec::new();
    for (place, outgoing) in outgoing.iter().enumerate() {
        let (receiver, ends) = (&receiver, &ends);
        let one = async move {
            if ends.load(Ordering::Relaxed) || leased.began.elapsed() > BEGINS_WITHIN {
                return (place, None);
            }
            let sent = send_one(leased, receiver, outgoing).await;
            if sent.0.failed.is_some() {
                ends.store(true, Ordering::Relaxed);
            }
            (place, Some(sent))
        };
        sending.push(one.boxed());
    }
    let mut sending = iter(sending).buffer_unordered(SIDE_BY_SIDE);
    while let Some((place, sent)) = sending.next().await {
        let Some((attempt, is_gone)) = sent else {
            continue;
        };
        match &attempt.failed {
            None => round.taken += 1,
            Some((error, _)) => {
                round.failed += 1;
                round.error = Some(error.clone());
            }
        }
        if is_gone {
            round.off.clone_from(&round.error);
        }
        let failing_since = outgoing[place].failing_since.or(hook.hook.failing_since);
        let gives_up = leased.now().before(GIVES_UP);
        if attempt.failed.is_some() && failing_since.is_some_and(|since| since <= gives_up) {
            let error = round.error.as_deref().unwrap_or_default();
            round.off = Some(format!("It failed for 3 days. {error}"));
        }
        attempts[place] = Some(attempt);
    }
    if round.taken == 0 && round.failed > 0 {
        round.retry_at = Some(leased.now().after(pause_of_hook(hook.failures)));
    }
    Some(Sent { attempts, round })
}

/// Sends one event. Returns also whether the receiver wants no events any more.
async fn send_one(
    leased: &Leased,
    receiver: &Receiver<'_>,
    outgoing: &Outgoing<'_>,
) -> (Attempt, bool) {
    // The specification wants no full stop in it.
    let id = outgoing.event_id.replace('.', "_");
    let answer = receiver
        .send(&Message {
            id: &id,
            at: leased.now(),
            body: outgoing.body,
        })
        .await;
    let status = answer.as_ref().ok().copied();
    let error = match answer {
        Ok(200..=299) => None,
        Ok(status) => Some(format!("The receiver answered {status}")),
        Err(error) => Some(error.text()),
    };
    let next_at = leased.now().after(pause(outgoing.attempts));
    let attempt = Attempt {
        status,
        failed: error.map(|error| (error, next_at)),
    };
    (attempt, status == Some(410))
}

/// The pause after so many attempts before this one.
fn pause(attempts: u32) -> Duration {
    let place = usize::try_from(attempts).unwrap_or(usize::MAX);
    PAUSES[place.min(PAUSES.len() - 1)]
}

/// The same for a whole hook.
fn pause_of_hook(failures: u32) -> Duration {
    pause(failures).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_five_seconds_to_six_hours_and_those_of_a_hook_to_a_minute() {
        let of_delivery: Vec<_> = (0..10).map(|attempts| pause(attempts).as_secs()).collect();
        assert_eq!(
            of_delivery,
            [
                5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 21_600, 21_600
            ]
        );
        assert_eq!(pause(u32::MAX), Duration::from_hours(6));
        let of_hook: Vec<_> = (0..4)
            .map(|failures| pause_of_hook(failures).as_secs())
            .collect();
        assert_eq!(of_hook, [5, 30, 60, 60]);
    }
}
