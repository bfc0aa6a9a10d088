//! The fields of a link on the command line: as arguments, and as they are printed.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write};

use clap::Args;
use jiff::{Span, SpanRelativeTo};
use shunt::domain::{Clock, FieldEdit, MaxClicks, Rules, SystemClock, Timestamp, io_reason};
use shunt::wire::{FullLinkBody, LinkFields, RulesJson};

use super::output::{HANDLE, HEAD, harmless};
use super::target;
use crate::cli::number::number;

/// The fields of a link besides its target.
#[derive(Args)]
pub(in crate::cli) struct FieldArgs {
    /// When it expires: a time such as 2027-01-31T18:00:00Z, or a span from now on such as 30d or 12h.
    #[arg(long, value_name = "TIME", alias = "expires", alias = "expires-at", value_parser = end)]
    expiry: Option<Timestamp>,
    /// Click limit: how many visits it redirects in all.
    #[arg(long, value_name = "N", value_parser = number(1..=MaxClicks::LAST))]
    max_clicks: Option<u64>,
    /// Its title.
    #[arg(long)]
    title: Option<String>,
    /// A tag; may be given several times, or several, separated by commas.
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Add the query of a visit to the target.
    #[arg(long)]
    forward_query: bool,
    /// When it starts: a time such as 2027-01-31T18:00:00Z, or a span from now on such as 2d. Until then it leads nowhere.
    #[arg(long, value_name = "TIME", alias = "starts", alias = "starts-at", value_parser = end)]
    start: Option<Timestamp>,
    /// Where visitors are sent before the start, after the end, and once the clicks are used up.
    #[arg(long, value_name = "URL", alias = "fallback-url")]
    fallback: Option<String>,
    /// A note, which only you see.
    #[arg(long)]
    note: Option<String>,
    /// Ask search engines not to list the link.
    #[arg(long)]
    noindex: bool,
    /// Its rules: a file with the list as JSON, or `-` for standard input.
    #[arg(long, value_name = "FILE", value_parser = rules)]
    rules: Option<RulesJson>,
}

/// Bytes of a file of rules: what the service takes is less.
const MAX_RULES: u64 = 1 << 20;

/// What is taken away from a link.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(in crate::cli) struct ClearArgs {
    /// Take its end away.
    #[arg(long, alias = "no-expires", conflicts_with = "expiry")]
    no_expiry: bool,
    /// Take its limit of clicks away.
    #[arg(long, conflicts_with = "max_clicks")]
    no_max_clicks: bool,
    /// Take its title away.
    #[arg(long, conflicts_with = "title")]
    no_title: bool,
    /// Take all its tags away.
    #[arg(long, conflicts_with = "tags")]
    no_tags: bool,
    /// Leave the query of a visit out.
    #[arg(long, conflicts_with = "forward_query")]
    no_forward_query: bool,
    /// Take its start away: it is followed at once.
    #[arg(long, alias = "no-starts", conflicts_with = "start")]
    no_start: bool,
    /// Take its fallback away.
    #[arg(long, conflicts_with = "fallback")]
    no_fallback: bool,
    /// Take its note away.
    #[arg(long, conflicts_with = "note")]
    no_note: bool,
    /// Let search engines list the link.
    #[arg(long, conflicts_with = "noindex")]
    no_noindex: bool,
    /// Take all its rules away.
    #[arg(long, conflicts_with = "rules")]
    no_rules: bool,
}

impl FieldArgs {
    /// The fields that were given.
    pub(super) fn fields(self) -> LinkFields {
        let max_clicks = self.max_clicks.and_then(|most| MaxClicks::parse(most).ok());
        let tags = (!self.tags.is_empty()).then_some(self.tags);
        let fallback = self.fallback.as_deref().map(target::completed);
        let fallback = fallback.map(Cow::into_owned);
        LinkFields {
            expires_at: FieldEdit::set_if(self.expiry),
            max_clicks: FieldEdit::set_if(max_clicks),
            title: FieldEdit::set_if(self.title),
            tags: FieldEdit::set_if(tags),
            forward_query: FieldEdit::set_if(self.forward_query.then_some(true)),
            starts_at: FieldEdit::set_if(self.start),
            fallback_url: FieldEdit::set_if(fallback),
            note: FieldEdit::set_if(self.note),
            noindex: FieldEdit::set_if(self.noindex.then_some(true)),
            rules: FieldEdit::set_if(self.rules),
            ..LinkFields::default()
        }
    }

    /// The same, and the fields that are taken away.
    pub(super) fn fields_without(self, cleared: &ClearArgs) -> LinkFields {
        fn unless<T>(cleared: bool, field: FieldEdit<T>) -> FieldEdit<T> {
            if cleared { FieldEdit::Clear } else { field }
        }
        let given = self.fields();
        LinkFields {
            expires_at: unless(cleared.no_expiry, given.expires_at),
            max_clicks: unless(cleared.no_max_clicks, given.max_clicks),
            title: unless(cleared.no_title, given.title),
            tags: unless(cleared.no_tags, given.tags),
            forward_query: unless(cleared.no_forward_query, given.forward_query),
            starts_at: unless(cleared.no_start, given.starts_at),
            fallback_url: unless(cleared.no_fallback, given.fallback_url),
            note: unless(cleared.no_note, given.note),
            noindex: unless(cleared.no_noindex, given.noindex),
            rules: unless(cleared.no_rules, given.rules),
            ..given
        }
    }
}

/// Writes the fields of a link one below the other; a field that is not set is left out.
pub(super) fn write(link: &FullLinkBody, out: &mut impl Write) -> io::Result<()> {
    let short_url = harmless(&link.short_url);
    let short_url = format_args!("{HANDLE}{short_url}{HANDLE:#}");
    line(out, "short URL", &short_url)?;
    line(out, "target", &harmless(&link.target_url))?;
    if let Some(title) = &link.title {
        line(out, "title", &harmless(title))?;
    }
    if !link.tags.is_empty() {
        line(out, "tags", &harmless(&link.tags.join(", ")))?;
    }
    match link.max_clicks {
        Some(most) => line(out, "clicks", &format_args!("{} of {most}", link.clicks))?,
        None => line(out, "clicks", &link.clicks)?,
    }
    line(out, "status", &harmless(&link.status.replace('_', " ")))?;
    line(out, "created", &harmless(&link.created_at))?;
    if link.updated_at != link.created_at {
        line(out, "changed", &harmless(&link.updated_at))?;
    }
    if let Some(end) = &link.expires_at {
        line(out, "expires", &harmless(end))?;
    }
    if link.forward_query {
        line(out, "query", &"a visit's query is added to the target")?;
    }
    if let Some(start) = &link.starts_at {
        line(out, "starts", &harmless(start))?;
    }
    if let Some(fallback) = &link.fallback_url {
        line(out, "fallback", &harmless(fallback))?;
    }
    if link.noindex {
        line(out, "robots", &"search engines are asked not to list it")?;
    }
    let rules = Rules::from_stored(&link.rules.0.to_string());
    let rules = rules.iter().flat_map(Rules::as_slice);
    for (place, rule) in rules.enumerate() {
        let name = format!("rule {}", place + 1);
        line(out, &name, &harmless(&rule.sentence()))?;
    }
    let note = link.note.as_deref().unwrap_or_default();
    for (number, text) in note.lines().enumerate() {
        let name = if number == 0 { "note" } else { "" };
        line(out, name, &harmless(text))?;
    }
    Ok(())
}

fn line(out: &mut impl Write, name: &str, value: &dyn Display) -> io::Result<()> {
    writeln!(out, "{HEAD}{name:9}{HEAD:#}  {value}")
}

/// The rules in a file, which the service checks.
fn rules(path: &str) -> Result<RulesJson, String> {
    let mut text = String::new();
    let read = match path {
        "-" => io::stdin().lock().take(MAX_RULES).read_to_string(&mut text),
        path => File::open(path).and_then(|file| file.take(MAX_RULES).read_to_string(&mut text)),
    };
    let length = read.map_err(|error| format!("cannot be read: {}", io_reason(&error)))?;
    if length as u64 == MAX_RULES {
        return Err("is too long for rules".into());
    }
    text.parse()
}

/// A moment, as a time with a zone or as a span from now on.
pub(super) fn end(given: &str) -> Result<Timestamp, String> {
    end_from(given, SystemClock.now())
}

fn end_from(given: &str, now: Timestamp) -> Result<Timestamp, String> {
    if let Ok(time) = given.parse() {
        return Ok(time);
    }
    let span = given.parse::<Span>().ok();
    let span = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let micros = span.and_then(|span| i64::try_from(span.as_micros()).ok());
    let end = micros.filter(|micros| *micros > 0);
    let end = end.and_then(|micros| Timestamp::from_micros(now.micros().checked_add(micros)?));
    end.ok_or_else(|| {
        "must be a time with its zone such as 2027-01-31T18:00:00Z, or a span such as 30d, 2w or 12h"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn after(given: &str) -> Result<String, String> {
        let now = "2027-01-01T00:00:00Z".parse().map_err(|_| "the clock")?;
        Ok(end_from(given, now)?.to_string())
    }

    #[test]
    fn an_end_is_a_time_or_a_span() {
        for (given, expected) in [
            ("2027-01-31T18:00:00+01:00", "2027-01-31T17:00:00Z"),
            ("30d", "2027-01-31T00:00:00Z"),
            ("2w", "2027-01-15T00:00:00Z"),
            ("1 day 12 hours", "2027-01-02T12:00:00Z"),
            ("PT90M", "2027-01-01T01:30:00Z"),
        ] {
            assert_eq!(after(given).as_deref(), Ok(expected), "{given}");
        }
        for given in [
            "",
            "tomorrow",
            "30",
            "-1d",
            "0d",
            "2027-01-31",
            "1 month",
            "90000000000d",
        ] {
            assert!(after(given).is_err(), "{given}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_end_or_refused(given in "\\PC{0,40}") {
            let _ = after(&given);
        }
    }
}
