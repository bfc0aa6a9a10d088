//! The feeds of events: what happened to the links of an account, in one order.
//!
//! What happens is written where it happens: a change of a link by triggers to `event_queue`, and clicks with the parts or the journal by
//! which they are counted. A *step* gives the next places to all that one snapshot shows, one step after the other, so that a reader never
//! passes over an event. At each place, the sum of a link's events is the count that it had in the snapshot of a step.

mod happened;
mod pruning;
mod reading;
mod row;
mod step;
mod telling;
mod waiting;

pub use happened::{Event, Happened};
pub use reading::{EventNews, EventPage, FeedEnd};
pub(super) use step::{ClicksRow, Step};
pub(super) use telling::{write_marks, write_step};
pub(super) use waiting::{Waiting, is_waiting, owners_of, read_moved};
