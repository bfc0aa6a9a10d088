//! A host in bodies.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::{Domain, DomainFields, FieldEdit, NamedOwners, TargetUrl, WellKnownFile};
use crate::http::ApiError;

/// A host beside the service's own, with links of its own.
#[derive(Serialize, ToSchema)]
pub(in crate::api) struct DomainBody {
    /// The host, as it was given.
    #[schema(example = "go.example.org")]
    host: String,
    /// Where `/` leads.
    #[schema(required = true, example = "https://example.org/")]
    root_url: Option<String>,
    /// Where a code leads that no link has.
    #[schema(required = true, example = "https://example.org/not-found")]
    not_found_url: Option<String>,
    /// `all`, or the e-mail addresses of the accounts that may make links there.
    #[schema(value_type = DomainOwnersBody)]
    owners: Value,
    /// `/.well-known/assetlinks.json`; a list leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "[]")]
    assetlinks: Option<String>,
    /// `/.well-known/apple-app-site-association`; a list leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "{}")]
    apple_app_site_association: Option<String>,
    /// When it was made, in UTC.
    #[schema(example = "2027-01-31T18:00:00.123456Z", format = DateTime)]
    created_at: String,
}

/// Who may make links on a host.
#[cfg(test)]
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum DomainOwnersBody {
    /// Every account.
    All(AllOwners),
    /// These, by their e-mail addresses.
    Some(Vec<String>),
}

/// Every account.
#[cfg(test)]
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum AllOwners {
    /// Every account.
    All,
}

impl DomainBody {
    pub(super) fn new(domain: Domain) -> Self {
        let url = |url: Option<TargetUrl>| url.map(|url| url.as_str().to_owned());
        let file = |file: Option<WellKnownFile>| file.map(|file| file.as_str().to_owned());
        Self {
            host: domain.host.to_string(),
            root_url: url(domain.root),
            not_found_url: url(domain.not_found),
            owners: domain.owners.map_or_else(|| "all".into(), Value::from),
            assetlinks: file(domain.assetlinks),
            apple_app_site_association: file(domain.apple_app_site_association),
            created_at: domain.created_at.with_micros(),
        }
    }
}

/// A new host.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct NewDomainBody {
    /// The host that people share, maybe with a port. Case, port and a dot at its end make no other host.
    #[schema(example = "go.example.org", min_length = 1, max_length = 260)]
    pub(super) host: String,
    /// Where `/` leads. Without it, `/` is 404.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "https://example.org/", max_length = 2048)]
    root_url: FieldEdit<String>,
    /// Where a code leads that no link has. Without it, such a visit is 404.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "https://example.org/not-found", max_length = 2048)]
    not_found_url: FieldEdit<String>,
    /// `all`, or the e-mail addresses of the accounts that may make links there, up to 1,000. Without it, no account may.
    #[serde(default)]
    #[schema(value_type = Option<DomainOwnersBody>)]
    owners: Option<Value>,
    /// Digital Asset Links, for apps of Android: JSON, or its text, of up to 64 KiB.
    #[serde(default)]
    #[schema(value_type = Option<Value>, example = json!([]))]
    assetlinks: FieldEdit<Value>,
    /// Apple's association file: JSON, or its text, of up to 64 KiB.
    #[serde(default)]
    #[schema(value_type = Option<Value>, example = json!({}))]
    apple_app_site_association: FieldEdit<Value>,
}

/// What is changed of a host; `null` takes a value away.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct DomainPatch {
    /// Where `/` leads.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "https://example.org/", max_length = 2048)]
    root_url: FieldEdit<String>,
    /// Where a code leads that no link has.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "https://example.org/not-found", max_length = 2048)]
    not_found_url: FieldEdit<String>,
    /// `all`, or all accounts that may make links there, by their e-mail addresses.
    #[serde(default)]
    #[schema(value_type = Option<DomainOwnersBody>)]
    owners: Option<Value>,
    /// Digital Asset Links, for apps of Android.
    #[serde(default)]
    #[schema(value_type = Option<Value>, example = json!([]))]
    assetlinks: FieldEdit<Value>,
    /// Apple's association file.
    #[serde(default)]
    #[schema(value_type = Option<Value>, example = json!({}))]
    apple_app_site_association: FieldEdit<Value>,
}

impl NewDomainBody {
    /// What is set of the host besides.
    pub(super) fn rest(self) -> DomainPatch {
        DomainPatch {
            root_url: self.root_url,
            not_found_url: self.not_found_url,
            owners: self.owners,
            assetlinks: self.assetlinks,
            apple_app_site_association: self.apple_app_site_association,
        }
    }
}

impl DomainPatch {
    /// What is said of the host.
    pub(super) fn fields(self) -> Result<DomainFields, ApiError> {
        Ok(DomainFields {
            root_url: self.root_url,
            not_found_url: self.not_found_url,
            owners: self.owners.map(named).transpose()?,
            assetlinks: text(self.assetlinks),
            apple_app_site_association: text(self.apple_app_site_association),
        })
    }
}

/// A file that is given as JSON, or as its text.
fn text(file: FieldEdit<Value>) -> FieldEdit<String> {
    match file {
        FieldEdit::Keep => FieldEdit::Keep,
        FieldEdit::Clear => FieldEdit::Clear,
        FieldEdit::Set(Value::String(text)) => FieldEdit::Set(text),
        FieldEdit::Set(json) => FieldEdit::Set(json.to_string()),
    }
}

/// The accounts that are named as owners.
fn named(owners: Value) -> Result<NamedOwners, ApiError> {
    let shape = || ApiError::invalid("owners: must be all, or an array of e-mail addresses");
    let emails = match owners {
        Value::String(all) if all == "all" => return Ok(NamedOwners::All),
        Value::Array(emails) => emails,
        _ => return Err(shape()),
    };
    let emails: Option<Vec<_>> = emails.iter().map(Value::as_str).collect();
    let emails = emails.ok_or_else(shape)?;
    NamedOwners::of(emails.into_iter()).map_err(|why| ApiError::invalid(why.to_string()))
}
