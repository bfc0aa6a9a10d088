//! The OpenAPI schemas of rules.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// A rule: `target_url` or `split`.
#[derive(ToSchema)]
#[schema(as = Rule)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) struct RuleBody {
    /// A name of up to 30 characters without `/` that is not a number: breakdowns have it instead of the number of the rule.
    #[schema(max_length = 30, example = "spring")]
    name: Option<String>,
    /// What a visitor must have, all of it. Without it the rule always holds.
    when: Option<ConditionsBody>,
    /// Where such visitors are sent: a URL as `target_url` of the link.
    #[schema(max_length = 2048, example = "https://example.org/app")]
    target_url: Option<String>,
    /// Targets that share the visitors by their weights. Of the clicks that a worker of the service gave it, each has had its share to
    /// within one.
    #[schema(min_items = 2, max_items = 10)]
    split: Option<Vec<SplitTargetBody>>,
    /// Beside `split`: whether a visitor meets the same target all day (UTC), by a keyed hash of address and agent. The key is drawn
    /// anew each day and kept no longer.
    sticky: Option<bool>,
}

/// A target of a split.
#[derive(ToSchema)]
#[schema(as = SplitTarget)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) struct SplitTargetBody {
    /// A name of up to 30 characters without `/` that is not a number.
    #[schema(max_length = 30, example = "blue")]
    name: Option<String>,
    /// Where it leads.
    #[schema(max_length = 2048, example = "https://example.org/blue")]
    target_url: String,
    /// Its share among the weights of all.
    #[schema(minimum = 1, maximum = 1000, example = 1)]
    weight: u16,
}

/// Conditions, each a value or a list of which one must be met.
#[derive(ToSchema)]
#[schema(as = Conditions)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) struct ConditionsBody {
    /// Kinds of devices: `desktop`, `phone`, `tablet`, `tv`, `console`.
    device: Option<OneOfWords>,
    /// Families of systems, as breakdowns have them.
    os: Option<OneOfWords>,
    /// Families of browsers, as breakdowns have them.
    browser: Option<OneOfWords>,
    /// Whether it is a known bot.
    bot: Option<OneOfFlags>,
    /// Countries of two letters. It needs `GEOIP_DATABASE`.
    country: Option<OneOfWords>,
    /// Basic ranges of languages (RFC 4647): `es` is met by `es-MX`. A visitor's languages are those with a weight of at least 0.5.
    language: Option<OneOfWords>,
    /// Parameters of a visitor's query, up to 10, all of them; `null` for any value.
    query: Option<OneOfQueries>,
    /// Addresses or networks; in IPv6 of at most 64 bits.
    address: Option<OneOfWords>,
    /// The moment from which it holds: RFC 3339 with a zone.
    #[schema(format = DateTime)]
    after: Option<String>,
    /// The moment from which it does not hold any more.
    #[schema(format = DateTime)]
    before: Option<String>,
}

/// A word, or words of which one must be met.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum OneOfWords {
    One(String),
    List(Vec<String>),
}

/// True or false, or both.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum OneOfFlags {
    One(bool),
    List(Vec<bool>),
}

/// Parameters, or lists of them of which one must be met.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum OneOfQueries {
    One(BTreeMap<String, Option<String>>),
    List(Vec<BTreeMap<String, Option<String>>>),
}
