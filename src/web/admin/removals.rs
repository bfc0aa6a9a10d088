//! Removals: a form for a new removal, and the list of removals.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::faults::Refused;
use super::question::asked;
use super::removal_form::{FormCard, RemovalForm};
use super::removal_question::{Subject, question};
use super::{Admin, ListPage, ListQuery, Names, Section, found, moment};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{Removal, RemovalId};
use crate::http::removals::settle;
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::store::Change;
use crate::web::form::Form;
use crate::web::language::Language;
use crate::web::page::{Site, own_page, see_other};

/// A removal.
#[derive(Template)]
#[template(path = "admin/removals.html")]
struct RemovalRow<'a> {
    language: Language,
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
    fn of(removal: Removal, abuse: &Abuse, admin: &'a Admin, names: &Names) -> Self {
        let language = admin.language();
        let revoked = |at| language.with("admin_revoked_at", &[("date", &moment(language, at))]);
        Self {
            language,
            csrf: admin.signed_in.owner().csrf,
            id: removal.id.0,
            is_by_hand: removal.kind != "blocklist",
            kind: kind_name(&removal.kind, language),
            value: abuse.shown_value(&removal),
            reason: removal.reason,
            status: removal.status.code(),
            by: match removal.removed_by {
                Some(user) => names.name(user),
                None => language.text("admin_operator").to_owned(),
            },
            at: moment(language, removal.removed_at),
            revoked_at: removal.revoked_at.map(revoked),
            links: language.count("admin_links", removal.links),
            is_running: removal.is_running,
        }
    }
}

/// What a removal is of.
pub(super) fn kind_name(kind: &str, language: Language) -> &'static str {
    match kind {
        "link" => language.text("admin_link"),
        "host" => language.text("admin_host"),
        "user" => language.text("admin_account"),
        "address" => language.text("admin_address"),
        _ => language.text("admin_blocklist"),
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
    let language = admin.language();
    let wanted = query.wanted(abuse, language).await?;
    let found = found(wanted, async |wanted| abuse.removals(&wanted).await).await?;
    let names = Names::of(abuse, language, &found, |removal| removal.removed_by).await?;
    let row = |removal| RemovalRow::of(removal, abuse, admin, &names);
    let mut page = ListPage::new(site, admin, Section::REMOVALS, query, found, row)?;
    page.said = match query.done.as_str() {
        "removed" => language.text("admin_removed"),
        "revoked" => language.text("admin_revoked"),
        "none" => language.text("admin_already_revoked"),
        _ => "",
    };
    let card = FormCard {
        language,
        csrf: admin.signed_in.owner().csrf,
        form: &form,
    };
    own_page(status, &page.with_form(&card)?)
}

/// The code of a short URL, as people write it.
fn pasted(links: &LinkService, site: &Site, url: &str) -> Option<String> {
    let code = links.code_in(url)?;
    Some(site.shown_code(&code))
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
    let sent = RemovalForm::sent(&form, |url| pasted(&links, &site, url));
    let asked_about = async {
        let (target, reason, status) = sent.parsed(&abuse).await?;
        abuse.check(&admin.administrator, &target)?;
        let subject = Subject::of(target, &abuse, &admin).await?;
        Ok((subject, reason, status))
    };
    match asked_about.await {
        Ok(about) => {
            let question = question(&sent, about, &abuse, &links, &admin).await?;
            asked(&site, &admin, question)
        }
        Err(error) => refused(&abuse, &site, &admin, sent, error).await,
    }
}

async fn refused(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    sent: RemovalForm,
    error: AbuseError,
) -> Result<Response, ApiError> {
    let refused = Refused::of(error, admin.language())?;
    let status = refused.status;
    let form = RemovalForm {
        refused: Some(refused),
        ..sent
    };
    page(abuse, site, admin, &ListQuery::default(), form, status).await
}

pub(in crate::web) async fn make(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let sent = RemovalForm::sent(&form, |url| pasted(&links, &site, url));
    let removed = async {
        let (target, reason, status) = sent.parsed(&abuse).await?;
        let removed = abuse.remove(&admin.administrator, &target, &reason, status);
        removed.await
    };
    let removed = match removed.await {
        Ok(removed) => removed,
        Err(error) => return refused(&abuse, &site, &admin, sent, error).await,
    };
    settle(&abuse, &links, removed).await;
    let Ok(report) = sent.report.parse() else {
        return Ok(see_other(&format!(
            "{}?done=removed",
            Section::REMOVALS.path
        )));
    };
    match abuse.close_report(&admin.administrator, report, true).await {
        // Somebody else closed it.
        Ok(()) | Err(AbuseError::Unknown) => Ok(see_other(&format!(
            "{}?done=removed",
            Section::REPORTS.path
        ))),
        Err(error) => Err(error.into()),
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
    taken(&abuse, &links, revoked, Section::REMOVALS.path, "revoked").await
}

/// The response to what was revoked, or was not in force, on the page at `path`.
pub(super) async fn taken(
    abuse: &Abuse,
    links: &LinkService,
    revoked: Result<(Removal, Vec<Change>), AbuseError>,
    path: &str,
    done: &str,
) -> Result<Response, ApiError> {
    let done = match revoked {
        Ok(revoked) => {
            settle(abuse, links, revoked).await;
            done
        }
        Err(AbuseError::Unknown) => "none",
        Err(error) => return Err(error.into()),
    };
    Ok(see_other(&format!("{path}?done={done}")))
}
