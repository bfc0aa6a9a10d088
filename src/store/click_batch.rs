//! Batches of clicks.

use super::{ClickDetails, LinkClicks};
use crate::domain::Interval;

/// Names a recorder: drawn at random for every recorder at each start.
pub type RecorderId = u64;

/// A batch of clicks, numbered so that a repetition is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClickBatch {
    /// The recorder that gathered it.
    pub recorder: RecorderId,
    /// Rises with every batch of this recorder; numbers may be left out. Batches of one recorder reach a sink in this
    /// order, one at a time.
    pub number: u64,
    /// The quarter of an hour in which all of its clicks were recorded.
    pub interval: Interval,
    /// Clicks per link, each link once, in rising order of ids; never empty.
    pub clicks: Vec<LinkClicks>,
    /// Their classes, as far as they are noted.
    pub details: ClickDetails,
}
