//! How long a link lasts: a number and a unit, as `8h` or `42 days`.

use std::time::Duration;

/// The shortest.
const MINUTE: Duration = Duration::from_mins(1);

/// The longest: a thousand years.
const LONGEST: f64 = 1_000.0 * 365.25 * 24.0 * 3_600.0;

/// The duration that a text says.
///
/// # Errors
/// A sentence for the client.
pub(super) fn duration(raw: &str) -> Result<Duration, &'static str> {
    const INVALID: &str = "Expire format is invalid. Valid examples: 1m, 8h, 42 days.";
    let raw = raw.trim();
    let end = raw.find(|char: char| !(char.is_ascii_digit() || char == '.'));
    let (number, unit) = raw.split_at(end.unwrap_or(raw.len()));
    let number: f64 = number.parse().map_err(|_| INVALID)?;
    let seconds = match unit.trim_start().to_ascii_lowercase().as_str() {
        "milliseconds" | "millisecond" | "msecs" | "msec" | "ms" | "" => 0.001,
        "seconds" | "second" | "secs" | "sec" | "s" => 1.0,
        "minutes" | "minute" | "mins" | "min" | "m" => 60.0,
        "hours" | "hour" | "hrs" | "hr" | "h" => 3_600.0,
        "days" | "day" | "d" => 24.0 * 3_600.0,
        "weeks" | "week" | "w" => 7.0 * 24.0 * 3_600.0,
        "months" | "month" | "mo" => 365.25 / 12.0 * 24.0 * 3_600.0,
        "years" | "year" | "yrs" | "yr" | "y" => 365.25 * 24.0 * 3_600.0,
        _ => return Err(INVALID),
    };
    let seconds = number * seconds;
    if seconds > LONGEST {
        return Err("Expire time should be less than 1000 years.");
    }
    let duration = Duration::from_secs_f64(seconds);
    if duration < MINUTE {
        return Err("Expire time should be more than 1 minute.");
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        for (raw, seconds) in [
            ("1m", 60),
            ("8h", 28_800),
            ("42 days", 3_628_800),
            ("1.5 hours", 5_400),
            ("60000", 60),
            ("2W", 1_209_600),
        ] {
            assert_eq!(duration(raw), Ok(Duration::from_secs(seconds)), "{raw}");
        }
        for raw in [
            "",
            "h",
            "-1h",
            "1 fortnight",
            "59s",
            "0",
            "1e400y",
            "9999999999999999999y",
            ".",
            "1..5h",
            "é",
        ] {
            assert!(duration(raw).is_err(), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_duration_is_at_least_a_minute(raw in "\\PC{0,20}|[0-9.]{0,30} ?[a-z]{0,6}") {
            if let Ok(duration) = duration(&raw) {
                prop_assert!(duration >= MINUTE);
            }
        }
    }
}
