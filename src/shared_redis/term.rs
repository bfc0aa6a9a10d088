//! The term of a data set.

use std::sync::Arc;

/// A fencing token: the term in which a data set is used. The database raises it when a server is taken into use, the data
/// set notes it, and scripts of another term are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Never the same for two servers or data sets; later ones are higher.
    pub number: i64,
    /// The epoch of the data set in this term.
    pub epoch: Arc<str>,
}
