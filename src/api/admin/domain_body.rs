//! A host in bodies.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::abuse::Abuse;
use crate::domain::{
    Domain, DomainEdit, DomainHost, DomainOwners, EmailAddress, FieldEdit, NamedUser, OwnHost,
    TargetUrl, WellKnownFile,
};
use crate::http::ApiError;

/// Accounts that may be named as owners of one host.
const MAX_OWNERS: usize = 1_000;

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
    /// The change of this host that is asked for.
    pub(super) async fn edit(
        self,
        host: &DomainHost,
        abuse: &Abuse,
    ) -> Result<DomainEdit, ApiError> {
        let owners = match self.owners {
            None => None,
            Some(owners) => Some(named(owners, abuse).await?),
        };
        Ok(DomainEdit {
            root: url("root_url", self.root_url, host)?,
            not_found: url("not_found_url", self.not_found_url, host)?,
            assetlinks: file("assetlinks", self.assetlinks)?,
            apple_app_site_association: file(
                "apple_app_site_association",
                self.apple_app_site_association,
            )?,
            owners,
        })
    }
}

fn url(
    field: &str,
    raw: FieldEdit<String>,
    host: &DomainHost,
) -> Result<FieldEdit<TargetUrl>, ApiError> {
    // It may lead to the service's own host, and to another host of it.
    let nowhere = OwnHost::unknown();
    raw.parsed(|raw| {
        let url = TargetUrl::parse(&raw, &nowhere)
            .map_err(|why| ApiError::invalid(format!("{field}: {why}")))?;
        if url.host().as_deref() == Some(host.name()) {
            let why = "must not lead back to this host";
            return Err(ApiError::invalid(format!("{field}: {why}")));
        }
        Ok(Some(url))
    })
}

fn file(field: &'static str, raw: FieldEdit<Value>) -> Result<FieldEdit<WellKnownFile>, ApiError> {
    raw.parsed(|raw| {
        let text = match raw {
            Value::String(text) => text,
            json => json.to_string(),
        };
        WellKnownFile::parse(field, &text).map(Some)
    })
    .map_err(|why| ApiError::invalid(why.to_string()))
}

/// The accounts that are named as owners.
async fn named(owners: Value, abuse: &Abuse) -> Result<DomainOwners, ApiError> {
    const SHAPE: &str = "owners: must be all, or an array of e-mail addresses";
    let emails = match owners {
        Value::String(all) if all == "all" => return Ok(DomainOwners::All),
        Value::Array(emails) if emails.len() <= MAX_OWNERS => emails,
        Value::Array(_) => {
            let detail = format!("owners: must be at most {MAX_OWNERS}");
            return Err(ApiError::invalid(detail));
        }
        _ => return Err(ApiError::invalid(SHAPE)),
    };
    let mut users = Vec::new();
    for email in emails {
        let raw = email.as_str().ok_or_else(|| ApiError::invalid(SHAPE))?;
        let email = EmailAddress::parse(raw.to_owned()).map_err(|_| ApiError::invalid(SHAPE))?;
        let user = abuse.user(&NamedUser::Email(email)).await;
        users.push(user.map_err(|error| match error {
            crate::abuse::AbuseError::Unknown => {
                ApiError::invalid(format!("owners: no account has the address {raw}"))
            }
            error => error.into(),
        })?);
    }
    Ok(DomainOwners::Some(users))
}
