//! Events, as they are read.

use std::sync::Arc;

use crate::domain::{ClickClass, EventCursor, EventType, Interval, ShortCode, Timestamp};

/// An event of a feed.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its place, which is the cursor after it.
    pub cursor: EventCursor,
    /// When it happened; of clicks, when they got their place.
    pub at: Timestamp,
    /// The link's own code; `None`: it is about no link.
    pub code: Option<ShortCode>,
    /// The tags of the link: then, or of clicks when they are read.
    pub tags: Vec<String>,
    /// What it was.
    pub happened: Happened,
}

/// What happened to a link.
#[derive(Clone, Debug)]
pub enum Happened {
    /// Clicks were counted.
    Clicks {
        /// When they came.
        interval: Interval,
        /// How many they are.
        clicks: u64,
        /// Their classes, as far as they are known.
        classes: Vec<(Arc<ClickClass>, u64)>,
    },
    /// Another event, with the link as it was then.
    ToLink {
        /// Its type.
        of: EventType,
        /// The target.
        target_url: String,
        /// The title.
        title: String,
        /// The clicks with which a link starts; of other events 0.
        clicks: u64,
    },
    /// A hook was switched off.
    HookOff {
        /// Its identifier.
        hook: i64,
        /// The host of its receiver: the rest of the address may have a secret.
        host: String,
        /// Why.
        reason: String,
    },
}

impl Happened {
    /// The type of the event.
    #[must_use]
    pub fn event_type(&self) -> EventType {
        match self {
            Self::Clicks { .. } => EventType::Clicks,
            Self::ToLink { of, .. } => *of,
            Self::HookOff { .. } => EventType::HookOff,
        }
    }
}
