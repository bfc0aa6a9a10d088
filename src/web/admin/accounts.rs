//! Accounts: found by their addresses, with numbers, banned, and let in again.

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::account_facts::{clicks_of, removed_of, signed_in};
use super::removals::taken;
use super::{Admin, ListPage, ListQuery, SearchForm, Section, account_of, found, removal_path};
use crate::abuse::Abuse;
use crate::domain::{AccountNumbers, SeenUser, UserId, Zone};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::web::form::Form;
use crate::web::language::Language;
use crate::web::page::{Site, own_page};

/// An account.
#[derive(Template)]
#[template(path = "admin/accounts.html")]
struct AccountRow<'a> {
    language: Language,
    csrf: &'a str,
    id: i64,
    /// The account, by its number.
    name: String,
    email: String,
    /// The name of a group: nobody signs in to it.
    group: Option<String>,
    made: String,
    signed_in: String,
    links: String,
    clicks: String,
    removed: Option<String>,
    is_admin: bool,
    is_banned: bool,
    /// The administrator's own account: it is not banned here.
    is_own: bool,
    /// What its page of the role does.
    role: &'static str,
    ban_path: String,
}

impl<'a> AccountRow<'a> {
    fn of(user: &SeenUser, numbers: AccountNumbers, admin: &'a Admin) -> Self {
        let language = admin.language();
        let made = language.date(user.created_at, &Zone::UTC);
        Self {
            language,
            csrf: admin.signed_in.owner().csrf,
            id: user.id.0,
            name: account_of(language, user.id.0),
            email: user.email.as_str().to_owned(),
            group: user.group.as_ref().map(|name| name.as_str().to_owned()),
            made: language.with("admin_since", &[("date", &made)]),
            signed_in: signed_in(language, numbers),
            links: language.count("admin_links", user.links),
            clicks: clicks_of(language, numbers),
            removed: removed_of(language, numbers.removed_links),
            is_admin: user.is_admin,
            is_banned: user.is_banned,
            is_own: user.id == admin.signed_in.person.user,
            role: if user.is_admin {
                language.text("admin_take_role")
            } else {
                language.text("admin_give_role")
            },
            ban_path: removal_path("user", &user.id.0.to_string()),
        }
    }
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    page(&abuse, &site, &admin, &query, None, StatusCode::OK).await
}

/// The list, with what was refused.
pub(super) async fn page(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    query: &ListQuery,
    refusal: Option<String>,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let wanted = query.wanted(abuse, language).await?;
    let found = found(wanted, async |wanted| {
        abuse.accounts(&admin.administrator, &wanted).await
    });
    let found = found.await?;
    let users = found.iter().flat_map(|found| &found.entries);
    let users: Vec<UserId> = users.map(|user| user.id).collect();
    let numbers: HashMap<_, _> = abuse.account_numbers(&users).await?;
    let form = SearchForm {
        language,
        section: Section::ACCOUNTS,
        label: language.text("admin_email"),
        has_owner: false,
        query,
    };
    let row = |user: SeenUser| {
        let numbers = numbers.get(&user.id).copied();
        AccountRow::of(&user, numbers.unwrap_or_default(), admin)
    };
    let mut page = ListPage::new(site, admin, form.section, query, found, row)?;
    page.said = match query.done.as_str() {
        "unbanned" => language.text("admin_unbanned"),
        "granted" => language.text("admin_granted"),
        "taken" => language.text("admin_role_taken"),
        "factors" => language.text("admin_factors_removed"),
        "none" => language.text("admin_none_banned"),
        _ => "",
    };
    page.refusal = refusal;
    own_page(status, &page.with_form(&form)?)
}

pub(in crate::web) async fn revoke_ban(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let user = UserId(id.parse().unwrap_or_default());
    let revoked = abuse.revoke_ban(&admin.administrator, user).await;
    let path = Section::ACCOUNTS.path;
    taken(&abuse, &links, revoked, path, "unbanned").await
}
