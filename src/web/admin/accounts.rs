//! Accounts: found by their addresses, banned, and let in again.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::removals::taken;
use super::{Admin, ListQuery, Listed, Section, removal_path};
use crate::abuse::Abuse;
use crate::domain::{SeenUser, UserId};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::web::form::Form;
use crate::web::page::{Frame, Site, number_of, own_page};

const PATH: &str = "/app/admin/accounts";

#[derive(Template)]
#[template(path = "admin/accounts.html")]
struct AccountsPage<'a> {
    frame: Frame<'a>,
    section: Section<'a>,
    query: &'a ListQuery,
    list: Listed<AccountRow>,
}

/// An account.
struct AccountRow {
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

impl AccountRow {
    fn of(user: &SeenUser, own: UserId) -> Self {
        Self {
            id: user.id.0,
            email: user.email.as_str().to_owned(),
            made: user.created_at.date(),
            links: number_of(user.links, "link"),
            is_admin: user.is_admin,
            is_banned: user.is_banned,
            is_own: user.id == own,
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
    let page = AccountsPage {
        frame: Frame::own(&site, admin.signed_in.owner()),
        section: Section::new(&admin, PATH),
        list: Listed::of(found.await, &query, PATH, |user| {
            AccountRow::of(&user, admin.signed_in.principal.user)
        })?,
        query: &query,
    };
    own_page(StatusCode::OK, &page)
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
