//! Accounts: found by their addresses, banned, and let in again.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::removals::taken;
use super::{Admin, ListPage, ListQuery, SearchForm, Section, removal_path};
use crate::abuse::Abuse;
use crate::domain::{SeenUser, UserId};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::web::form::Form;
use crate::web::page::{Site, number_of, own_page};

/// An account.
#[derive(Template)]
#[template(path = "admin/accounts.html")]
struct AccountRow<'a> {
    csrf: &'a str,
    id: i64,
    email: String,
    made: String,
    links: String,
    is_admin: bool,
    is_banned: bool,
    /// The administrator's own account: it is not banned here.
    is_own: bool,
    ban_path: String,
}

impl<'a> AccountRow<'a> {
    fn of(user: &SeenUser, admin: &'a Admin) -> Self {
        Self {
            csrf: admin.signed_in.owner().csrf,
            id: user.id.0,
            email: user.email.as_str().to_owned(),
            made: user.created_at.date(),
            links: number_of(user.links, "link"),
            is_admin: user.is_admin,
            is_banned: user.is_banned,
            is_own: user.id == admin.signed_in.principal.user,
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
    let found = async {
        Ok(abuse
            .accounts(&admin.administrator, &query.wanted(&abuse).await?)
            .await?)
    };
    let form = SearchForm {
        section: Section::ACCOUNTS,
        label: "E-mail address",
        has_owner: false,
        query: &query,
    };
    let row = |user| AccountRow::of(&user, &admin);
    let page = ListPage::new(&site, &admin, form.section, &query, found.await, row)?;
    own_page(StatusCode::OK, &page.with_form(&form)?)
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
    taken(&abuse, &links, revoked, "/app/admin?done=unbanned").await
}
