//! The front page of administration: what waits, how much there is, how the service is.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::health::{Health, RedisHealth};
use super::{Admin, Section};
use crate::abuse::{Abuse, DayOfService};
use crate::domain::{ServiceTotals, Zone};
use crate::http::ApiError;
use crate::store::Usage;
use crate::web::language::Language;
use crate::web::page::{Frame, Site, own_page};
use crate::web::sparkline::sparkline;

const MEBIBYTE: u64 = 1 << 20;

#[derive(Template)]
#[template(path = "admin/overview.html")]
struct Overview<'a> {
    frame: Frame<'a>,
    section: Section,
    open_reports: String,
    /// How many links these reports are of.
    reported_links: Option<String>,
    links: String,
    accounts: String,
    /// Clicks of all days that are shown.
    clicks: String,
    /// Days, the oldest first, with their clicks.
    days: Vec<(String, String)>,
    line: String,
    largest: String,
    /// Names and values.
    facts: Vec<(&'static str, String)>,
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    State(health): State<Health>,
    admin: Admin,
) -> Result<Response, ApiError> {
    let (totals, days, usage, redis) =
        tokio::join!(abuse.totals(), abuse.days(), abuse.usage(), health.redis());
    let language = admin.language();
    let page = Overview::new(
        Frame::own(&site, admin.signed_in.owner()),
        &totals?,
        &days?,
        facts(language, &usage?, &redis),
    );
    own_page(StatusCode::OK, &page)
}

impl<'a> Overview<'a> {
    fn new(
        frame: Frame<'a>,
        totals: &ServiceTotals,
        days: &[DayOfService],
        facts: Vec<(&'static str, String)>,
    ) -> Self {
        let language = frame.language;
        // Of very many accounts the first ones are counted.
        let counted = |number| {
            let number = language.number(number);
            if totals.are_more {
                language.with("admin_at_least", &[("n", &number)])
            } else {
                number
            }
        };
        let clicks: Vec<u64> = days.iter().map(|day| day.clicks).collect();
        let largest = clicks.iter().copied().max().unwrap_or_default();
        let shown = days.iter().map(|day| {
            let date = language.date(day.at, &Zone::UTC);
            (date, language.number(day.clicks))
        });
        Self {
            section: Section::OVERVIEW,
            open_reports: language.number(totals.open_reports),
            reported_links: (totals.reported_links > 0)
                .then(|| language.count("admin_reported_links", totals.reported_links)),
            links: counted(totals.links),
            accounts: counted(totals.accounts),
            clicks: language.number(clicks.iter().fold(0, |sum, day| sum.saturating_add(*day))),
            days: shown.collect(),
            line: sparkline(&clicks),
            largest: language.number(largest),
            facts,
            frame,
        }
    }
}

/// How the service is.
fn facts(language: Language, usage: &Usage, redis: &RedisHealth) -> Vec<(&'static str, String)> {
    let size = |bytes: u64| format!("{} MiB", language.number(bytes.div_ceil(MEBIBYTE)));
    let kind = match usage.disk {
        Some(_) => "SQLite",
        None => "PostgreSQL",
    };
    let up = language.text("admin_up");
    let mut facts = vec![
        (
            language.text("admin_version"),
            env!("CARGO_PKG_VERSION").to_owned(),
        ),
        (
            language.text("admin_database"),
            format!("{kind}, {up}, {}", size(usage.bytes)),
        ),
    ];
    let pending = match redis {
        RedisHealth::Off => {
            facts.push(("Redis", language.text("admin_off").to_owned()));
            None
        }
        RedisHealth::Away => {
            facts.push(("Redis", language.text("admin_away").to_owned()));
            None
        }
        RedisHealth::Up { pending_links } => {
            facts.push(("Redis", up.to_owned()));
            Some(*pending_links)
        }
    };
    if let Some(links) = pending {
        let waiting = language.count("admin_pending", links);
        facts.push((language.text("admin_write_back"), waiting));
    }
    let batches = language.count("admin_batches", usage.journal);
    facts.push((language.text("admin_journal"), batches));
    if let Some(disk) = usage.disk {
        let (free, size) = (size(disk.free), size(disk.size));
        let text = language.with("admin_disk_free", &[("free", &free), ("size", &size)]);
        facts.push((language.text("admin_disk"), text));
    }
    facts
}
