//! Administration, for accounts with the role: over the same service as `/admin/*` of the API.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::link_list::refused_text;
use super::page::Site;
use super::session::SignedIn;
use crate::abuse::{Abuse, Administrator};
use crate::accounts::Accounts;
use crate::domain::{NamedUser, Newest, NewestWanted, SearchText};
use crate::http::{ApiError, ClientAddress};

pub(super) mod accounts;
pub(super) mod audit;
pub(super) mod links;
pub(super) mod removals;
pub(super) mod reports;

/// Entries of a page.
const PER_PAGE: u32 = 50;

/// The pages of administration, and their names.
const SECTIONS: [(&str, &str); 5] = [
    ("/app/admin", "Removals"),
    ("/app/admin/reports", "Reports"),
    ("/app/admin/links", "Links"),
    ("/app/admin/accounts", "Accounts"),
    ("/app/admin/audit", "Audit"),
];

/// The administrator who is signed in, whose role was just looked up. Any other account is refused.
pub(super) struct Admin {
    signed_in: SignedIn,
    administrator: Administrator,
}

impl<S> FromRequestParts<S> for Admin
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
    Arc<Abuse>: FromRef<S>,
    Site: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let signed_in = SignedIn::from_request_parts(parts, state).await?;
        let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
        let abuse = Arc::<Abuse>::from_ref(state);
        let administrator = abuse.administrator(signed_in.principal, client.as_str());
        match administrator.await {
            Ok(administrator) => Ok(Self {
                signed_in,
                administrator,
            }),
            Err(error) => Err(ApiError::from(error).into_response()),
        }
    }
}

/// What every page of administration shows.
struct Section<'a> {
    csrf: &'a str,
    path: &'static str,
}

impl<'a> Section<'a> {
    fn new(admin: &'a Admin, path: &'static str) -> Self {
        let csrf = admin.signed_in.owner().csrf;
        Self { csrf, path }
    }

    /// Path and name of each page, and whether it is the current page.
    fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let path = self.path;
        let sections = SECTIONS.into_iter();
        sections.map(move |(each, name)| (each, name, each == path))
    }
}

/// Which part of a list is wanted; parameters that are not known are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    /// Text anywhere in an entry.
    q: String,
    /// The account whose links are wanted: its number, or its e-mail address.
    owner: String,
    /// The entries before this number.
    before: String,
    /// What was done just now.
    done: String,
    /// What the form for a removal has in it already.
    kind: String,
    value: String,
}

impl ListQuery {
    async fn wanted(&self, abuse: &Abuse) -> Result<NewestWanted, ApiError> {
        let text = SearchText::parse(self.q.trim());
        let owner = match self.owner.trim() {
            "" => None,
            raw => {
                let message = "owner: must be an account's number, or its e-mail address";
                let named = NamedUser::parse(raw).ok_or_else(|| ApiError::invalid(message))?;
                Some(abuse.user(&named).await?)
            }
        };
        Ok(NewestWanted {
            text: text.map_err(|_| refused_text())?,
            owner,
            before: self.before.parse().ok(),
            limit: PER_PAGE,
        })
    }

    /// The address of the part of the list at `path` before a number.
    fn next(&self, path: &str, before: i64) -> String {
        let before = before.to_string();
        let mut query = Serializer::new(String::new());
        for (name, value) in [("q", &self.q), ("owner", &self.owner), ("before", &before)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        format!("{path}?{}", query.finish())
    }
}

/// A part of a list as a page shows it.
struct Listed<T> {
    rows: Vec<T>,
    /// The address of the next part.
    next: Option<String>,
    /// Why the list is missing, in the API's own words.
    fault: Option<String>,
}

impl<T> Listed<T> {
    fn of<E>(
        found: Result<Newest<E>, ApiError>,
        query: &ListQuery,
        path: &str,
        row: impl Fn(E) -> T,
    ) -> Result<Self, ApiError> {
        match found {
            Ok(found) => Ok(Self {
                rows: found.entries.into_iter().map(row).collect(),
                next: found.next.map(|before| query.next(path, before)),
                fault: None,
            }),
            Err(error) if error.status().is_server_error() => Err(error),
            Err(error) => Ok(Self {
                rows: Vec::new(),
                next: None,
                fault: Some(error.detail().to_owned()),
            }),
        }
    }
}

/// The address of the form for a removal with these two in it.
fn removal_path(kind: &str, value: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("kind", kind).append_pair("value", value);
    format!("/app/admin?{}", query.finish())
}
