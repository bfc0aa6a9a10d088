//! Rules of a link: where each visitor is sent, by what the request says of it.
//!
//! | file | what it does |
//! | --- | --- |
//! | `rule` | the types: rules in order, each with conditions, and with a target or a split |
//! | `conditions` | what a rule asks of a visitor, and whether a visitor has it |
//! | `visitor` | what is known of a visitor, found out when it is first asked for |
//! | `parse`, `parse_conditions` | reads rules from JSON, once, with the path of the field in each refusal |
//! | `write` | writes them as JSON again |
//! | `sentence` | says them in plain words |
//! | `turns` | whose turn it is in a split |

mod conditions;
mod parse;
mod parse_conditions;
mod rule;
mod sentence;
mod turns;
mod visitor;
mod write;

pub use conditions::{Conditions, Language, OneOf, QueryPair, QueryPairs};
pub use parse::MAX_JSON;
pub use rule::{Leads, Rule, RuleName, Rules, Split, SplitTarget};
pub use turns::Turns;
pub use visitor::{AgentFacts, KnownVisitor, VisitorSource};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
