//! Tests of behaviour: the real program, over real HTTP, in both modes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

mod abuse;
mod accounts;
mod admitted;
mod architecture;
mod attacks;
mod browsers;
mod bulk;
mod busy;
mod by_clicks;
mod clicks_by_time;
mod cluster;
mod code_length;
mod countries;
mod delete;
mod document;
mod embedded;
mod encrypted_redis;
mod errors;
mod growth;
mod instances;
mod journal;
mod lifecycle;
mod limits;
mod list;
mod live;
mod logs;
mod lookups;
mod managed;
mod memory;
mod metrics;
mod overload;
mod own_account;
mod parked;
mod pgbouncer;
mod qr;
mod queue;
mod redirect;
mod restored;
mod risks;
mod roles;
mod rolled_back;
mod rotation;
mod search;
mod series;
mod settings;
mod shards;
mod shorten;
mod slow_connect;
mod stats;
mod traces;
mod visitors;
mod web;
