//! Administration, for accounts with the role: over the same service as `/admin/*` of the API.

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::link_list::refused_text;
use super::page::{Frame, Site, html};
use super::session::SignedIn;
use crate::abuse::{Abuse, Administrator};
use crate::accounts::Accounts;
use crate::domain::{NamedUser, Newest, NewestWanted};
use crate::http::{ApiError, ClientAddress};

pub(super) mod accounts;
pub(super) mod audit;
mod domain_form;
pub(super) mod domains;
pub(super) mod links;
pub(super) mod removals;
pub(super) mod reports;

/// Entries of a page.
const PER_PAGE: u32 = 50;

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

/// A page of administration.
#[derive(Clone, Copy)]
struct Section {
    path: &'static str,
    name: &'static str,
    title: &'static str,
}

impl Section {
    const REMOVALS: Self = Self::new("/app/admin", "Removals", "Administration");
    const REPORTS: Self = Self::new("/app/admin/reports", "Reports", "Reports");
    const LINKS: Self = Self::new("/app/admin/links", "Links", "Links of all accounts");
    const ACCOUNTS: Self = Self::new("/app/admin/accounts", "Accounts", "Accounts");
    const DOMAINS: Self = Self::new("/app/admin/domains", "Domains", "Domains");
    const AUDIT: Self = Self::new("/app/admin/audit", "Audit", "Audit");

    /// All of them, in their order.
    const ALL: [Self; 6] = [
        Self::REMOVALS,
        Self::REPORTS,
        Self::LINKS,
        Self::ACCOUNTS,
        Self::DOMAINS,
        Self::AUDIT,
    ];

    const fn new(path: &'static str, name: &'static str, title: &'static str) -> Self {
        Self { path, name, title }
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
        let text = abuse.searched(self.q.trim());
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

/// A page with a part of a list, newest first.
#[derive(Template)]
#[template(path = "admin/list.html")]
struct ListPage<'a> {
    frame: Frame<'a>,
    section: Section,
    /// What was done just now.
    said: &'static str,
    /// The form above the list, as HTML.
    form: String,
    /// The entries, as HTML.
    rows: Vec<String>,
    /// The address of the next part.
    next: Option<String>,
    /// Why the list is missing, in the API's own words.
    fault: Option<String>,
}

impl<'a> ListPage<'a> {
    /// A page with what was found; with the reason why nothing was, if that is the client's to know.
    fn new<E, R: Template>(
        site: &'a Site,
        admin: &'a Admin,
        section: Section,
        query: &ListQuery,
        found: Result<Newest<E>, ApiError>,
        row: impl Fn(E) -> R,
    ) -> Result<Self, ApiError> {
        let (found, fault) = match found {
            Ok(found) => (found, None),
            Err(error) if error.status().is_server_error() => return Err(error),
            Err(error) => (Newest::default(), Some(error.detail().to_owned())),
        };
        let rows = found.entries.into_iter().map(|entry| html(&row(entry)));
        Ok(Self {
            frame: Frame::own(site, admin.signed_in.owner()),
            section,
            said: "",
            form: String::new(),
            rows: rows.collect::<Result<_, _>>()?,
            next: found.next.map(|before| query.next(section.path, before)),
            fault,
        })
    }

    /// The same with a form above the list.
    fn with_form(self, form: &impl Template) -> Result<Self, ApiError> {
        let form = html(form)?;
        Ok(Self { form, ..self })
    }
}

/// The form of a search.
#[derive(Template)]
#[template(path = "admin/search.html")]
struct SearchForm<'a> {
    section: Section,
    /// What is searched.
    label: &'static str,
    /// Whether it asks for an account, too.
    has_owner: bool,
    query: &'a ListQuery,
}

/// The address of the form for a removal with these two in it.
fn removal_path(kind: &str, value: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("kind", kind).append_pair("value", value);
    format!("/app/admin?{}", query.finish())
}
