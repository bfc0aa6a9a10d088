//! Attacks, each beside its required outcome.

mod codings;
mod fields;
mod heads;
mod logs;
mod oversize;
mod paths;
mod targets;
mod tokens;
mod wire;
