//! `shunt events`

use std::collections::HashMap;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use shunt::wire::{EventBody, FullLinkBody};

use super::api::{Retry, Setback};
use super::output::harmless;
use super::{Api, Call, Failure, ServiceArgs, output};

/// Seconds for which the service waits for events in one request.
const WAIT: u64 = 20;

/// Pause before the next try where the service is away.
const PAUSE: Duration = Duration::from_secs(1);

/// How long counts may take to be in the feed: they are written back first.
const COUNTED_WITHIN: Duration = Duration::from_mins(2);

/// Which events.
#[derive(Args)]
pub(in crate::cli) struct EventsArgs {
    /// Only events after the event with this `id`; `now`: only what happens from now on.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Wait for further events, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Print no events, but compare the sums of their clicks with the counts of your links.
    #[arg(long, conflicts_with_all = ["after", "follow"])]
    verify: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// A feed, and how far it is read.
struct Feed {
    api: Api,
    token: String,
    after: Option<String>,
    wait: String,
}

/// Prints events, one JSON object a line, or compares their sums.
pub(super) fn events(args: EventsArgs) -> Result<(), Failure> {
    let wait = WAIT.min(args.service.timeout / 2).max(1).to_string();
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let mut feed = Feed {
        api,
        token,
        after: args.after,
        wait,
    };
    if args.verify {
        return feed.verify();
    }
    let mut out = io::stdout();
    loop {
        let lines = match feed.next(args.follow) {
            Ok(lines) => lines,
            // Who follows waits for a service that starts again.
            Err(setback)
                if args.follow && matches!(setback.retry, Retry::Soon(_) | Retry::AtLimit(_)) =>
            {
                sleep(PAUSE);
                continue;
            }
            Err(setback) => return Err(setback.failure),
        };
        // Lines are JSON, in which control characters are escaped.
        out.write_all(lines.as_bytes())?;
        out.flush()?;
        if lines.is_empty() && !args.follow {
            return Ok(());
        }
    }
}

impl Feed {
    /// The next events as lines; none at the end of the feed or, if it waits, of the time.
    fn next(&mut self, waits: bool) -> Result<String, Setback> {
        let mut query = vec![("wait", if waits { self.wait.as_str() } else { "0" })];
        query.extend(self.after.as_deref().map(|after| ("after", after)));
        let call = Call::get("/urls/my/events").query(&query);
        let (lines, cursor) = self
            .api
            .text_and_header(call.token(&self.token), "shunt-cursor")?;
        // The cursor is older than events for which the service waited.
        let last = lines
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok());
        let last = last.map(|event: EventBody| event.id);
        self.after = last.or(cursor).or(self.after.take());
        Ok(lines)
    }

    /// Adds the clicks of the next events; returns whether there were any.
    fn add(&mut self, sums: &mut HashMap<String, Sum>) -> Result<bool, Failure> {
        let lines = self.next(false)?;
        for line in lines.lines() {
            let event: EventBody = serde_json::from_str(line)
                .map_err(|error| Failure::Failed(format!("an event is invalid: {error}")))?;
            let Some(code) = &event.short_code else {
                continue;
            };
            let sum = sums.entry(name(event.domain.as_deref(), code)).or_default();
            if event.of == "link.created" {
                // The code may have been that of an earlier link.
                *sum = Sum {
                    clicks: 0,
                    is_whole: true,
                };
            }
            let clicks = event.clicks.unwrap_or_default();
            sum.clicks = sum.clicks.saturating_add(clicks);
        }
        Ok(!lines.is_empty())
    }

    /// Compares the sums of links whose events are all there with their counts.
    fn verify(mut self) -> Result<(), Failure> {
        let counts = self.counts()?;
        let mut sums = HashMap::new();
        let deadline = Instant::now() + COUNTED_WITHIN;
        loop {
            while self.add(&mut sums)? {}
            let missing = |(link, clicks): &(&String, &u64)| {
                let sum: Option<&Sum> = sums.get(*link);
                sum.is_some_and(|sum| sum.is_whole && sum.clicks < **clicks)
            };
            if !counts.iter().any(|count| missing(&count)) || Instant::now() >= deadline {
                break;
            }
            sleep(PAUSE);
        }
        // Clicks that came meanwhile are in later counts.
        let later = self.counts()?;
        let (mut checked, mut wrong) = (0_u64, Vec::new());
        for (link, least) in &counts {
            let Some(sum) = sums.get(link).filter(|sum| sum.is_whole) else {
                continue;
            };
            checked += 1;
            let most = later.get(link).copied().unwrap_or(u64::MAX);
            if sum.clicks < *least || sum.clicks > most {
                wrong.push(format!(
                    "{}: {} in events, {least} counted",
                    harmless(link),
                    sum.clicks
                ));
            }
        }
        let older = counts.len() as u64 - checked;
        let mut out = output::stdout();
        let right = checked - wrong.len() as u64;
        writeln!(out, "{right} links have all of their clicks in events")?;
        if older > 0 {
            writeln!(out, "{older} links are older than the events that are kept")?;
        }
        if wrong.is_empty() {
            return Ok(());
        }
        Err(Failure::Failed(format!(
            "the sums of events are not the counts:\n{}",
            wrong.join("\n")
        )))
    }

    /// The counts of all links.
    fn counts(&self) -> Result<HashMap<String, u64>, Failure> {
        let query = [("limit", "none"), ("view", "full")];
        let call = Call::get("/urls/my").query(&query).token(&self.token);
        let links: Vec<FullLinkBody> = self.api.read(call)?;
        let links = links.into_iter();
        Ok(links
            .map(|link| (name(link.domain.as_deref(), &link.short_code), link.clicks))
            .collect())
    }
}

/// The clicks of a link in events, and whether these have its beginning.
#[derive(Default)]
struct Sum {
    clicks: u64,
    is_whole: bool,
}

/// A code with its host.
fn name(domain: Option<&str>, code: &str) -> String {
    domain.map_or_else(|| code.to_owned(), |host| format!("{host}/{code}"))
}
