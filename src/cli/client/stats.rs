//! `shunt stats`

use std::io::{self, IsTerminal, Write};

use clap::Args;
use serde::{Deserialize, Serialize};

use super::output::{HANDLE, HEAD, harmless};
use super::{Api, Call, Failure, ServiceArgs, output};

/// The link whose statistics are printed.
#[derive(Args)]
pub(in crate::cli) struct StatsArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

#[derive(Serialize, Deserialize)]
struct Stats {
    short_code: String,
    /// `None`: the link is removed, or its time has not come.
    target_url: Option<String>,
    clicks: u64,
    total: u64,
    /// The last 30 days; a service of an older version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    series: Option<Series>,
    /// Who made the clicks of those days; only the owner sees this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    breakdowns: Vec<Breakdown>,
}

#[derive(Serialize, Deserialize)]
struct Series {
    interval: String,
    tz: String,
    from: String,
    to: String,
    clicks: u64,
    people: u64,
    points: Vec<Point>,
}

#[derive(Serialize, Deserialize)]
struct Point {
    at: String,
    clicks: u64,
    people: u64,
}

#[derive(Serialize, Deserialize)]
struct Breakdown {
    by: String,
    clicks: u64,
    people: u64,
    rows: Vec<BreakdownRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<Sum>,
}

#[derive(Serialize, Deserialize)]
struct BreakdownRow {
    value: Option<String>,
    clicks: u64,
    people: u64,
}

#[derive(Serialize, Deserialize)]
struct Sum {
    clicks: u64,
    people: u64,
}

/// What there is a breakdown by.
const DIMENSIONS: [&str; 7] = [
    "referrer", "country", "browser", "os", "device", "rule", "bot",
];

/// Rows of each on a terminal, and in JSON.
const SHOWN_ROWS: u32 = 5;
const ALL_ROWS: u32 = 1_000;

/// Prints the statistics of a link.
pub(super) fn stats(args: StatsArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let read = api.read::<Stats>(Call::get(&code.path("/stats")));
    let mut stats = read.map_err(|setback| setback.failure.not_found(&code))?;
    if json || io::stdout().is_terminal() {
        let read = api.read::<Series>(Call::get(&code.path("/stats/series")));
        stats.series = match read.map_err(|setback| setback.failure) {
            Ok(series) => Some(series),
            Err(Failure::NotFound(_)) => None,
            Err(failure) => return Err(failure),
        };
        let rows = if json { ALL_ROWS } else { SHOWN_ROWS };
        stats.breakdowns = breakdowns(&api, &code.path("/stats/breakdown"), rows)?;
    }
    if json {
        return output::json_line(&stats);
    }
    let mut out = output::stdout();
    let target = stats.target_url.as_deref().unwrap_or("(hidden)");
    let (code, target) = (harmless(&stats.short_code), harmless(target));
    writeln!(out, "{HEAD}code  {HEAD:#}  {HANDLE}{code}{HANDLE:#}")?;
    writeln!(out, "{HEAD}target{HEAD:#}  {target}")?;
    writeln!(out, "{HEAD}clicks{HEAD:#}  {}", stats.clicks)?;
    if let Some(series) = stats.series {
        let clicks: Vec<_> = series.points.iter().map(|point| point.clicks).collect();
        let (line, sum) = (sparkline(&clicks), series.clicks);
        writeln!(out, "{HEAD}30 days{HEAD:#} {line}  {sum}")?;
    }
    for breakdown in &stats.breakdowns {
        let (by, top) = (harmless(&breakdown.by), top(breakdown));
        writeln!(out, "{HEAD}{by:<8}{HEAD:#} {top}")?;
    }
    Ok(())
}

/// The breakdowns of the last 30 days; empty for a caller who is not the link's owner, and for a service without breakdowns.
fn breakdowns(api: &Api, path: &str, rows: u32) -> Result<Vec<Breakdown>, Failure> {
    let token = match api.token() {
        Ok(token) => token,
        Err(Failure::Refused(_)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure),
    };
    let mut breakdowns = Vec::new();
    for by in DIMENSIONS {
        let path = format!("{path}?by={by}&limit={rows}");
        let read = api.read(Call::get(&path).token(&token));
        match read.map_err(|setback| setback.failure) {
            Ok(breakdown) => breakdowns.push(breakdown),
            Err(Failure::NotFound(_) | Failure::Refused(_)) => break,
            Err(Failure::Failed(why)) if why.starts_with("This key ") => break,
            Err(failure) => return Err(failure),
        }
    }
    Ok(breakdowns)
}

/// The values with most clicks, and the rest.
fn top(breakdown: &Breakdown) -> String {
    let row = |row: &BreakdownRow| {
        let value = row.value.as_deref().map_or("unknown".into(), harmless);
        format!("{value} {}", row.clicks)
    };
    let other = breakdown.other.as_ref();
    let mut rows: Vec<String> = breakdown.rows.iter().map(row).collect();
    rows.extend(other.map(|other| format!("other {}", other.clicks)));
    if rows.is_empty() {
        rows.push("none".to_owned());
    }
    rows.join(", ")
}

/// A bar for each number, the highest for the largest; 0 has no bar.
fn sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let largest = numbers.iter().copied().max().unwrap_or_default().max(1);
    let bar = |number: &u64| {
        // From 1 to 8, rounded up.
        let height = (u128::from(*number) * 8).div_ceil(u128::from(largest));
        let index = usize::try_from(height).unwrap_or_default().checked_sub(1);
        index.and_then(|index| BARS.get(index)).copied()
    };
    numbers
        .iter()
        .map(|number| bar(number).unwrap_or('·'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breakdown_is_a_line_of_its_largest_values() {
        let row = |value: Option<&str>, clicks| BreakdownRow {
            value: value.map(str::to_owned),
            clicks,
            people: clicks,
        };
        let mut breakdown = Breakdown {
            by: "country".to_owned(),
            clicks: 9,
            people: 9,
            rows: vec![row(Some("DE"), 5), row(None, 3)],
            other: Some(Sum {
                clicks: 1,
                people: 1,
            }),
        };
        assert_eq!(top(&breakdown), "DE 5, unknown 3, other 1");
        breakdown.rows.clear();
        breakdown.other = None;
        assert_eq!(top(&breakdown), "none");
    }

    #[test]
    fn a_sparkline_has_a_bar_for_each_number() {
        assert_eq!(sparkline(&[0, 1, 2, 4, 8]), "·▁▂▄█");
        assert_eq!(sparkline(&[u64::MAX, 1, 0]), "█▁·");
        assert_eq!(sparkline(&[0, 0]), "··");
        assert_eq!(sparkline(&[]), "");
    }
}
