//! Rows of sums as JSON, for statements that read many at once.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::store::summing::Added;

/// `{"time": {"key": class << 32 | clicks, …}, …}`: SQLite reads numbers by keys four times as fast as arrays of four. More
/// clicks than 32 bits hold are several of these pairs.
pub(super) fn by_time(rows: &Added) -> String {
    let mut times = BTreeMap::<i32, String>::new();
    let columns = rows
        .keys
        .iter()
        .zip(&rows.times)
        .zip(rows.classes.iter().zip(&rows.clicks));
    for ((key, time), (class, clicks)) in columns {
        let pairs = times.entry(*time).or_default();
        let mut left = *clicks;
        while left > 0 {
            let clicks = left.min(i64::from(u32::MAX));
            left -= clicks;
            let comma = if pairs.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(
                pairs,
                "{comma}\"{key}\":{}",
                i64::from(*class) << 32 | clicks
            );
        }
    }
    let mut json = String::from("{");
    for (time, pairs) in times {
        let comma = if json.len() == 1 { "" } else { "," };
        let _ = write!(json, "{comma}\"{time}\":{{{pairs}}}");
    }
    json.push('}');
    json
}
