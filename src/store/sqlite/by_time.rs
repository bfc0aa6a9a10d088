//! Rows of sums as JSON, for statements that read many at once.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::store::summing::Added;

/// The bits of a digit of clicks, and the largest digit.
const DIGIT_BITS: u32 = 38;
const MAX_DIGIT: i64 = (1 << DIGIT_BITS) - 1;

/// `{"time": {"key": class << 39 | place << 38 | digit, …}, …}`: SQLite reads numbers by keys four times as fast as arrays of four. The
/// place of a digit is 0 or 1: more clicks than 38 bits hold are two of these pairs.
pub(super) fn by_time(rows: &Added) -> String {
    let mut times = BTreeMap::<i32, String>::new();
    let columns = rows
        .keys
        .iter()
        .zip(&rows.times)
        .zip(rows.classes.iter().zip(&rows.clicks));
    for ((key, time), (class, clicks)) in columns {
        let pairs = times.entry(*time).or_default();
        let digits = [(clicks & MAX_DIGIT, 0), (clicks >> DIGIT_BITS, 1)];
        for (digit, place) in digits.into_iter().filter(|(digit, _)| *digit > 0) {
            let comma = if pairs.is_empty() { "" } else { "," };
            let pair = i64::from(*class) << (DIGIT_BITS + 1) | place << DIGIT_BITS | digit;
            // Writing to a string does not fail.
            let _ = write!(pairs, "{comma}\"{key}\":{pair}");
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
