//! Removals: a form for a new removal, and the list of removals.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListPage, ListQuery, Section, removal_path};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{InvalidRemoval, Reason, Removal, RemovalId, RemovalStatus, RemovalTarget};
use crate::http::removals::settle;
use crate::http::{ApiError, QueryOf};
use crate::links::{LinkError, LinkService};
use crate::store::Change;
use crate::web::form::Form;
use crate::web::page::{Site, minute, number_of, own_page, see_other};
use crate::web::questions::{Question, asked};

/// A removal.
#[derive(Template)]
#[template(path = "admin/removals.html")]
struct RemovalRow<'a> {
    csrf: &'a str,
    id: i64,
    kind: &'static str,
    value: String,
    reason: String,
    status: u16,
    by: String,
    at: String,
    revoked_at: Option<String>,
    links: String,
    is_running: bool,
    /// The blocklist's own is not revoked by hand.
    is_by_hand: bool,
}

impl<'a> RemovalRow<'a> {
    fn of(removal: Removal, abuse: &Abuse, admin: &'a Admin) -> Self {
        Self {
            csrf: admin.signed_in.owner().csrf,
            id: removal.id.0,
            is_by_hand: removal.kind != "blocklist",
            kind: match removal.kind.as_str() {
                "link" => "Link",
                "host" => "Host",
                "user" => "Account",
                "address" => "Address",
                _ => "Blocklist",
            },
            value: abuse.shown_value(&removal),
            reason: removal.reason,
            status: removal.status.code(),
            by: match removal.removed_by {
                Some(user) => format!("account {}", user.0),
                None => "the operator".to_owned(),
            },
            at: minute(removal.removed_at),
            revoked_at: removal.revoked_at.map(minute),
            links: number_of(removal.links, "link"),
            is_running: removal.is_running,
        }
    }
}

/// The form for a removal, on its page.
#[derive(Template)]
#[template(path = "admin/removal_form.html")]
struct FormCard<'a> {
    csrf: &'a str,
    form: &'a RemovalForm,
}

/// The form for a removal.
#[derive(Default)]
struct RemovalForm {
    kind: String,
    value: String,
    reason: String,
    status: String,
    /// What is wrong, as `field: sentence`.
    fault: Option<String>,
}

impl RemovalForm {
    fn sent(form: &Form) -> Self {
        let field = |name| form.get(name).trim().to_owned();
        Self {
            kind: field("kind"),
            value: field("value"),
            reason: field("reason"),
            status: field("status"),
            fault: None,
        }
    }

    /// The fault of a field; with an empty `field`, the fault that belongs to no field.
    fn fault_of(&self, field: &str) -> Option<&str> {
        let fault = self.fault.as_deref()?;
        match fault.split_once(": ") {
            Some((name @ ("value" | "reason"), text)) => (name == field).then_some(text),
            _ => field.is_empty().then_some(fault),
        }
    }

    async fn parsed(
        &self,
        abuse: &Abuse,
    ) -> Result<(RemovalTarget, Reason, RemovalStatus), ApiError> {
        let invalid = |error: InvalidRemoval| ApiError::invalid(error.to_string());
        let target = abuse.target(&self.kind, &self.value).await?;
        let reason = Reason::parse(&self.reason).map_err(invalid)?;
        let status = self.status.parse().unwrap_or_default();
        Ok((
            target,
            reason,
            RemovalStatus::parse(status).map_err(invalid)?,
        ))
    }

    async fn remove(
        &self,
        abuse: &Abuse,
        admin: &Admin,
    ) -> Result<(Removal, Vec<Change>), ApiError> {
        let (target, reason, status) = self.parsed(abuse).await?;
        let removed = abuse.remove(&admin.administrator, &target, &reason, status);
        Ok(removed.await?)
    }

    /// The question whether to remove it. Links to a host and from an address are counted by the removal only, which looks at all
    /// links.
    async fn question(
        &self,
        abuse: &Abuse,
        links: &LinkService,
        admin: &Admin,
    ) -> Result<Question, ApiError> {
        let (target, reason, status) = self.parsed(abuse).await?;
        abuse.check(&admin.administrator, &target)?;
        let title = match &target {
            RemovalTarget::Link(code) => {
                let shown = abuse.shown_code(code);
                match links.stats(code, admin.administrator.address()).await {
                    Ok(found) => {
                        let clicks = found.ok_or(AbuseError::Unknown)?.clicks;
                        format!("Remove link {shown} with {}?", number_of(clicks, "click"))
                    }
                    // They cannot be read right now, and a harmful link is removed all the same.
                    Err(LinkError::Count(_)) => format!("Remove link {shown}?"),
                    Err(error) => return Err(error.into()),
                }
            }
            RemovalTarget::Host(host) => format!("Remove all links to {host}?"),
            RemovalTarget::Address(range) => format!("Remove all links from {range}?"),
            RemovalTarget::User(user) => {
                let account = abuse.account(*user).await?;
                let count = number_of(account.links, "link");
                format!("Ban {} with {count}?", account.email.as_str())
            }
        };
        let text = format!(
            "Visitors get status {} and see this reason: {}",
            status.code(),
            reason.as_str()
        );
        Ok(Question {
            title,
            text,
            action: "/app/admin/removals".to_owned(),
            fields: vec![
                ("kind", self.kind.clone()),
                ("value", self.value.clone()),
                ("reason", self.reason.clone()),
                ("status", self.status.clone()),
            ],
            yes: match target {
                RemovalTarget::User(_) => "Ban",
                _ => "Remove",
            },
            no: "Cancel",
            back: removal_path(&self.kind, &self.value),
            ..Question::default()
        })
    }
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let form = RemovalForm {
        kind: query.kind.clone(),
        value: query.value.clone(),
        ..RemovalForm::default()
    };
    page(&abuse, &site, &admin, &query, form, StatusCode::OK).await
}

async fn page(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    query: &ListQuery,
    form: RemovalForm,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let found = async { Ok(abuse.removals(&query.wanted(abuse).await?).await?) };
    let row = |removal| RemovalRow::of(removal, abuse, admin);
    let mut page = ListPage::new(site, admin, Section::REMOVALS, query, found.await, row)?;
    page.said = match query.done.as_str() {
        "removed" => "Removed.",
        "revoked" => "Revoked.",
        "unbanned" => "The account may log in again.",
        "none" => "It was already revoked.",
        _ => "",
    };
    let csrf = admin.signed_in.owner().csrf;
    own_page(status, &page.with_form(&FormCard { csrf, form: &form })?)
}

/// Asks whether to remove what the form names.
pub(in crate::web) async fn ask(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let sent = RemovalForm::sent(&form);
    match sent.question(&abuse, &links, &admin).await {
        Ok(question) => asked(&site, &admin.signed_in, StatusCode::OK, question),
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => refused(&abuse, &site, &admin, sent, &error).await,
    }
}

async fn refused(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    sent: RemovalForm,
    error: &ApiError,
) -> Result<Response, ApiError> {
    let form = RemovalForm {
        fault: Some(error.detail().to_owned()),
        ..sent
    };
    let query = ListQuery::default();
    page(abuse, site, admin, &query, form, error.status()).await
}

pub(in crate::web) async fn make(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let sent = RemovalForm::sent(&form);
    match sent.remove(&abuse, &admin).await {
        Ok(removed) => Ok(settled(&abuse, &links, removed, "/app/admin?done=removed").await),
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => refused(&abuse, &site, &admin, sent, &error).await,
    }
}

pub(in crate::web) async fn revoke(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    // No removal has the number 0.
    let id = RemovalId(id.parse().unwrap_or_default());
    let revoked = abuse.revoke(&admin.administrator, id).await;
    taken(&abuse, &links, revoked, "/app/admin?done=revoked").await
}

/// The response to a removal that was made or revoked, once its links are.
async fn settled(
    abuse: &Abuse,
    links: &LinkService,
    removal: (Removal, Vec<Change>),
    next: &str,
) -> Response {
    settle(abuse, links, removal).await;
    see_other(next)
}

/// The response to what was revoked, or was not in force.
pub(super) async fn taken(
    abuse: &Abuse,
    links: &LinkService,
    revoked: Result<(Removal, Vec<Change>), AbuseError>,
    next: &str,
) -> Result<Response, ApiError> {
    match revoked {
        Ok(revoked) => Ok(settled(abuse, links, revoked, next).await),
        Err(AbuseError::Unknown) => Ok(see_other("/app/admin?done=none")),
        Err(error) => Err(error.into()),
    }
}
