//! What administrators ask for: one file per endpoint.

use serde::Deserialize;
use utoipa::IntoParams;

use crate::abuse::Abuse;
use crate::domain::{InvalidSearchText, NamedUser, NewestWanted, Rules};
use crate::http::ApiError;
#[cfg(test)]
use crate::http::documented::ErrorBody;

pub(super) mod audit;
pub(super) mod close_report;
mod domain_body;
pub(super) mod domains;
pub(super) mod invitations;
pub(super) mod list_removals;
pub(super) mod removal_body;
pub(super) mod remove;
pub(super) mod reports;
pub(super) mod revoke_removal;
pub(super) mod search_links;
pub(super) mod search_users;

/// Entries of a page, unless others are asked for.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

/// A route only for administrators.
#[cfg(test)]
#[derive(utoipa::IntoResponses)]
#[expect(
    dead_code,
    reason = "it only describes the responses in the OpenAPI document"
)]
pub(super) enum NeedsRole {
    /// The token's account does not administer this service
    #[response(status = 403, example = json!({"detail": "This needs the administrator role"}))]
    Forbidden(ErrorBody),
}

/// Where the rules of a link lead.
fn rule_targets(rules: Option<&Rules>) -> Vec<String> {
    let targets = rules.into_iter().flat_map(Rules::targets);
    targets.map(|target| target.as_str().to_owned()).collect()
}

/// Which page of a list is wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// The entries before this number: `next` of the page before.
    #[param(value_type = Option<i64>, minimum = 1)]
    before: Option<String>,
    /// Entries of a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

impl PageQuery {
    fn wanted(&self) -> Result<NewestWanted, ApiError> {
        let limit = self.limit.as_deref().map_or(Ok(DEFAULT_LIMIT), str::parse);
        let limit = limit.ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        let before = self.before.as_deref().map(str::parse).transpose();
        let before = before
            .ok()
            .filter(|before| before.is_none_or(|number| number > 0));
        Ok(NewestWanted {
            limit: limit.ok_or_else(|| ApiError::invalid("limit: must be from 1 to 200"))?,
            before: before.ok_or_else(|| ApiError::invalid("before: must be at least 1"))?,
            ..NewestWanted::default()
        })
    }
}

/// What is searched for, and which page of it is wanted.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// Words that are anywhere in an entry, in any case.
    #[param(max_length = 200)]
    q: Option<String>,
    /// The account that is wanted, or whose links are: its number, or its e-mail address.
    owner: Option<String>,
    /// The entries before this number: `next` of the page before.
    #[param(value_type = Option<i64>, minimum = 1)]
    before: Option<String>,
    /// Entries of a page.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 200)]
    limit: Option<String>,
}

impl SearchQuery {
    async fn wanted(self, abuse: &Abuse) -> Result<NewestWanted, ApiError> {
        let invalid = |error: InvalidSearchText| ApiError::invalid(error.to_string());
        let text = self.q.as_deref().map(|raw| abuse.searched(raw)).transpose();
        let page = PageQuery {
            before: self.before,
            limit: self.limit,
        };
        let page = page.wanted()?;
        let owner = match self.owner.as_deref() {
            None => None,
            Some(raw) => {
                let message = "owner: must be an account's number, or its e-mail address";
                let named = NamedUser::parse(raw).ok_or_else(|| ApiError::invalid(message))?;
                Some(abuse.user(&named).await?)
            }
        };
        Ok(NewestWanted {
            text: text.map_err(invalid)?.flatten(),
            owner,
            ..page
        })
    }
}
