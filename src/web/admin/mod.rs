//! Administration, for accounts with the role: over the same service as `/admin/*` of the API.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::language::Language;
use super::page::{Frame, Site, html};
use super::session::SignedIn;
use crate::abuse::{Abuse, AbuseError, Administrator};
use crate::accounts::Accounts;
use crate::domain::{EmailAddress, NamedUser, Newest, NewestWanted, Timestamp, UserId, Zone};
use crate::http::{ApiError, ClientAddress};
use faults::Refused;

mod account_facts;
pub(super) mod accounts;
pub(super) mod audit;
mod domain_form;
pub(super) mod domains;
pub(super) mod factors;
mod faults;
mod health;
pub(super) mod invitations;
pub(super) mod links;
pub(super) mod overview;
mod question;
mod removal_form;
mod removal_question;
pub(super) mod removals;
pub(super) mod reports;
pub(super) mod roles;

pub use health::Health;

/// Entries of a page.
const PER_PAGE: u32 = 50;

/// The administrator who is signed in, whose role was just looked up. Any other account is refused.
pub(super) struct Admin {
    signed_in: SignedIn,
    administrator: Administrator,
}

impl Admin {
    fn language(&self) -> Language {
        self.signed_in.owner().language
    }
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
        let administrator = abuse.administrator(signed_in.person, client.as_str());
        match administrator.await {
            Ok(administrator) => Ok(Self {
                signed_in,
                administrator,
            }),
            Err(error) => Err(ApiError::from(error).into_response()),
        }
    }
}

/// A page of administration, with the name of its text.
#[derive(Clone, Copy)]
struct Section {
    path: &'static str,
    name: &'static str,
}

impl Section {
    const OVERVIEW: Self = Self::new("/app/admin", "admin_overview");
    const REPORTS: Self = Self::new("/app/admin/reports", "admin_reports");
    const LINKS: Self = Self::new("/app/admin/links", "admin_all_links");
    const ACCOUNTS: Self = Self::new("/app/admin/accounts", "admin_accounts");
    const INVITATIONS: Self = Self::new("/app/admin/invitations", "admin_invitations");
    const REMOVALS: Self = Self::new("/app/admin/removals", "admin_removals");
    const DOMAINS: Self = Self::new("/app/admin/domains", "admin_domains");
    const AUDIT: Self = Self::new("/app/admin/audit", "admin_audit");

    /// All of them, in their order.
    const ALL: [Self; 8] = [
        Self::OVERVIEW,
        Self::REPORTS,
        Self::LINKS,
        Self::ACCOUNTS,
        Self::INVITATIONS,
        Self::REMOVALS,
        Self::DOMAINS,
        Self::AUDIT,
    ];

    const fn new(path: &'static str, name: &'static str) -> Self {
        Self { path, name }
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
    /// Which reports are wanted: open ones, unless it is `closed`.
    state: String,
    /// What the form for a removal has in it already.
    kind: String,
    value: String,
}

impl ListQuery {
    /// What is wanted; the inner error says what the administrator should change.
    async fn wanted(
        &self,
        abuse: &Abuse,
        language: Language,
    ) -> Result<Result<NewestWanted, Refused>, ApiError> {
        let Ok(text) = abuse.searched(self.q.trim()) else {
            let text = language.text("admin_fault_search");
            return Ok(Err(Refused::whole(text)));
        };
        let owner = match self.owner.trim() {
            "" => None,
            raw => {
                let found = match NamedUser::parse(raw) {
                    Some(named) => abuse.user(&named).await,
                    None => Err(AbuseError::Unknown),
                };
                match found {
                    Ok(user) => Some(user),
                    Err(AbuseError::Unknown) => {
                        let text = language.text("admin_fault_no_such_account");
                        return Ok(Err(Refused::whole(text)));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        };
        Ok(Ok(NewestWanted {
            text,
            owner,
            before: self.before.parse().ok(),
            limit: PER_PAGE,
        }))
    }

    /// The address of the part of the list at `path` before a number.
    fn next(&self, path: &str, before: i64) -> String {
        let before = before.to_string();
        let mut query = Serializer::new(String::new());
        for (name, value) in [
            ("q", &self.q),
            ("owner", &self.owner),
            ("state", &self.state),
            ("before", &before),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        format!("{path}?{}", query.finish())
    }
}

/// What a list found, or the sentence why nothing was.
type Found<E> = Result<Newest<E>, Refused>;

/// Finds entries, if what is wanted is understood.
async fn found<E>(
    wanted: Result<NewestWanted, Refused>,
    find: impl AsyncFnOnce(NewestWanted) -> Result<Newest<E>, AbuseError>,
) -> Result<Found<E>, ApiError> {
    match wanted {
        Ok(wanted) => Ok(Ok(find(wanted).await?)),
        Err(refused) => Ok(Err(refused)),
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
    /// Why something was not done.
    refusal: Option<String>,
    /// The form above the list, as HTML.
    form: String,
    /// The entries, as HTML.
    rows: Vec<String>,
    /// The address of the next part.
    next: Option<String>,
    /// Why the list is missing.
    fault: Option<String>,
}

impl<'a> ListPage<'a> {
    /// A page with what was found; with the reason why nothing was, if that is the administrator's to know.
    fn new<E, R: Template>(
        site: &'a Site,
        admin: &'a Admin,
        section: Section,
        query: &ListQuery,
        found: Found<E>,
        row: impl Fn(E) -> R,
    ) -> Result<Self, ApiError> {
        let (found, fault) = match found {
            Ok(found) => (found, None),
            Err(refused) => (Newest::default(), Some(refused.text)),
        };
        let rows = found.entries.into_iter().map(|entry| html(&row(entry)));
        Ok(Self {
            frame: Frame::own(site, admin.signed_in.owner()),
            section,
            said: "",
            refusal: None,
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
    language: Language,
    section: Section,
    /// What is searched.
    label: &'static str,
    /// Whether it asks for an account, too.
    has_owner: bool,
    query: &'a ListQuery,
}

/// A moment to the minute, in UTC.
fn moment(language: Language, at: Timestamp) -> String {
    format!("{} UTC", language.moment(at, &Zone::UTC))
}

/// What accounts are called: by their addresses, and an account that is gone by its number.
struct Names {
    language: Language,
    emails: HashMap<UserId, EmailAddress>,
}

impl Names {
    /// Of the accounts of what was found.
    async fn of<E>(
        abuse: &Abuse,
        language: Language,
        found: &Found<E>,
        account: impl Fn(&E) -> Option<UserId>,
    ) -> Result<Self, ApiError> {
        let entries = found.iter().flat_map(|found| &found.entries);
        let emails = abuse.emails_of(entries.filter_map(account)).await?;
        Ok(Self { language, emails })
    }

    fn name(&self, user: UserId) -> String {
        match self.emails.get(&user) {
            Some(email) => email.as_str().to_owned(),
            None => account_of(self.language, user.0),
        }
    }
}

/// An account by its number.
fn account_of(language: Language, user: i64) -> String {
    language.with("admin_account_n", &[("n", &user.to_string())])
}

/// The address of the form for a removal with these two in it.
fn removal_path(kind: &str, value: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("kind", kind).append_pair("value", value);
    format!("{}?{}", Section::REMOVALS.path, query.finish())
}
