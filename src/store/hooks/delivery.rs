//! What is sent to a receiver, and what became of it.

use crate::domain::{EventPlace, Timestamp};

/// An event for a receiver.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    /// The event.
    pub event_id: String,
    /// Its type.
    pub of: &'static str,
    /// The code of its link: events of one link are sent one after the other.
    pub link: String,
    /// What is sent.
    pub body: String,
    /// What became of it, if it was sent already.
    pub attempt: Option<Attempt>,
}

/// What was read of the feed of a hook's account.
#[derive(Debug)]
pub struct NewDeliveries {
    /// What the receiver wants.
    pub deliveries: Vec<NewDelivery>,
    /// Links whose events after their places stay in the feed.
    pub held: Vec<HeldLink>,
    /// All other events up to here are in `deliveries`, or are not wanted.
    pub next: EventPlace,
}

/// A delivery whose moment has come.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    /// The database's own number.
    pub id: i64,
    /// The event.
    pub event_id: String,
    /// The code of its link.
    pub link: String,
    /// What is sent.
    pub body: String,
    /// How many times it was sent already.
    pub attempts: u32,
    /// When it failed first.
    pub failing_since: Option<Timestamp>,
}

/// What became of a delivery that was sent.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The answer's status, if there was an answer.
    pub status: Option<u16>,
    /// Why the receiver did not take it, and when it is sent again; `None`: the receiver took it.
    pub failed: Option<(String, Timestamp)>,
}

/// What a round came to.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Deliveries that the receiver took.
    pub taken: u32,
    /// Deliveries that it did not take.
    pub failed: u32,
    /// Why it did not take the last one.
    pub error: Option<String>,
    /// If the receiver took nothing: when the next round is.
    pub retry_at: Option<Timestamp>,
    /// The hook is switched off, for this reason.
    pub off: Option<String>,
}

/// A link whose events after a place are not in line yet.
#[derive(Clone, Debug)]
pub struct HeldLink {
    /// The code of the link.
    pub link: String,
    /// All that happened to it up to here has its deliveries.
    pub read: EventPlace,
}
