//! Rule 9 as properties.

use stateright::Property;

use super::{State, World};

pub(super) const NOT_TOO_MANY: &str = "rule 9: never one redirect too many";
pub(super) const NOT_TOO_FEW: &str =
    "rule 9: one too few only where a process ended with answers that it had not sent";
pub(super) const ONCE: &str = "rule 9: a batch is granted once";
pub(super) const COUNTED: &str = "rule 9: what is granted is counted with it";
pub(super) const SERIES: &str =
    "rule 9: a grant is counted in the interval in which it was asked for";

pub(super) fn all() -> Vec<Property<World>> {
    vec![
        Property::always(NOT_TOO_MANY, |_, state: &State| {
            !state.books.is_one_too_many
        }),
        Property::always(NOT_TOO_FEW, |_, state: &State| !state.books.too_few),
        Property::always(ONCE, |_, state: &State| !state.books.granted_twice),
        Property::always(COUNTED, |_, state: &State| {
            let granted = |(_, answer): &(_, super::Answer)| match answer {
                super::Answer::Granted(clicks) => *clicks,
                super::Answer::Uncounted => 0,
            };
            state.books.granted_twice
                || state.link.counted == state.answers.iter().map(granted).sum::<u8>()
        }),
        Property::always(SERIES, |_, state: &State| {
            state.link.series == state.books.intervals
                && state.link.series.iter().sum::<u8>() == state.link.counted
        }),
        Property::sometimes(
            "every click is used up, and a visitor refused",
            |world: &World, state: &State| {
                state.books.redirects == world.max_clicks && state.books.refused
            },
        ),
    ]
}
