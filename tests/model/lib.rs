//! A model of the click protocol: its numbered rules (`src/clicks/mod.rs`) are the properties, checked exhaustively.
//!
//! | module | what it models |
//! | --- | --- |
//! | [`pipeline`] | rules 1 to 8, intervals of an hour and classes: recorders, Redis, journal, flushers, readers |
//! | [`parts`] | how clicks get into rows: parts of flushes and of the journal, and their merge |
//! | [`grants`] | rule 9: links with `max_clicks` |
//! | [`changes`] | the part of rule 1 that is about deleted links |
//!
//! Each has a `Mutation` for each rule, which switches a part of it off.

#![expect(
    missing_docs,
    reason = "the names of rules, states and actions say it; what they do not say is documented"
)]
#![expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "a world is passed in the same way to each function, whatever its size"
)]

pub mod changes;
pub mod grants;
pub mod parts;
pub mod pipeline;

use std::time::{Duration, Instant};

use stateright::{Checker, Expectation, HasDiscoveries, Model};

/// What a check of a model found.
#[derive(Debug)]
pub struct Checked {
    /// Distinct states that were reached.
    pub states: usize,
    /// Steps of the longest shortest way to one of them.
    pub depth: usize,
    /// Whether no state was left out for its depth.
    pub is_complete: bool,
    /// Broken properties, each with the shortest way there.
    pub broken: Vec<(&'static str, String)>,
    /// Examples that were looked for and not found.
    pub missing: Vec<&'static str>,
    /// How long it took.
    pub took: Duration,
}

/// Stateright counts states of a way, one more than its steps, and leaves out those at the limit.
const UNCHECKED: usize = 2;

/// Checks every state that `depth` steps reach: to the end, or until `until` (a property) is broken.
///
/// It is called in this package alone: generic code is compiled where it is called, and the tests are not optimised.
fn check<M>(model: M, depth: usize, until: Option<&'static str>) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + std::fmt::Debug + std::hash::Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
{
    let started = Instant::now();
    let properties = model.properties();
    // With several threads a state might be reached by a longer way first, and what follows it be cut off too early.
    let mut builder = model
        .checker()
        .target_max_depth(depth + UNCHECKED)
        .threads(1);
    if let Some(property) = until {
        builder = builder.finish_when(HasDiscoveries::AnyOf([property].into()));
    }
    let checker = builder.spawn_bfs().join();
    let discoveries = checker.discoveries();
    let is = |wanted: Expectation| {
        properties
            .iter()
            .filter(move |property| property.expectation == wanted)
            .map(|property| property.name)
    };
    let broken = is(Expectation::Always).filter_map(|name| {
        let path = discoveries.get(name)?.clone();
        let steps: Vec<_> = path
            .into_actions()
            .iter()
            .map(|action| format!("{action:?}"))
            .collect();
        Some((name, steps.join("\n")))
    });
    Checked {
        states: checker.unique_state_count(),
        depth: depth.min(checker.max_depth() - 1),
        is_complete: checker.max_depth() < depth + UNCHECKED,
        broken: broken.collect(),
        missing: is(Expectation::Sometimes)
            .filter(|name| !discoveries.contains_key(name))
            .collect(),
        took: started.elapsed(),
    }
}
