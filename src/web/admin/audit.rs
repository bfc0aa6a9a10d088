//! What administrators did.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::removals::kind_name;
use super::{Admin, ListPage, ListQuery, Names, Section, found, moment};
use crate::abuse::Abuse;
use crate::domain::AuditEntry;
use crate::http::{ApiError, QueryOf};
use crate::web::language::Language;
use crate::web::page::{Site, own_page};

/// Something that was done.
#[derive(Template)]
#[template(path = "admin/audit.html")]
struct AuditRow {
    action: String,
    subject: String,
    detail: String,
    by: String,
    at: String,
}

impl AuditRow {
    fn of(entry: AuditEntry, names: &Names) -> Self {
        let language = names.language;
        let address = entry.address;
        Self {
            subject: subject(&entry.action, entry.subject, language),
            detail: detail(&entry.action, entry.detail, language),
            action: match action(&entry.action, language) {
                Some(text) => text.to_owned(),
                None => entry.action,
            },
            by: match entry.user {
                Some(user) => format!("{}, {address}", names.name(user)),
                None => language.text("admin_operator").to_owned(),
            },
            at: moment(language, entry.at),
        }
    }
}

/// What was done, in words.
fn action(action: &str, language: Language) -> Option<&'static str> {
    Some(match action {
        "remove" => language.text("admin_did_remove"),
        "revoke" => language.text("admin_did_revoke"),
        "grant" => language.text("admin_did_grant"),
        "revoke_role" => language.text("admin_did_revoke_role"),
        "reset_password" => language.text("admin_did_reset_password"),
        "close_report" => language.text("admin_did_close_report"),
        "see_targets" => language.text("admin_did_see_targets"),
        "add_domain" => language.text("admin_did_add_domain"),
        "edit_domain" => language.text("admin_did_edit_domain"),
        "remove_domain" => language.text("admin_did_remove_domain"),
        "invite" => language.text("admin_did_invite"),
        "revoke_invitation" => language.text("admin_did_revoke_invitation"),
        "join" => language.text("admin_did_join"),
        "create_administrator" => language.text("admin_did_create_administrator"),
        "reset_forgotten" => language.text("admin_did_reset_forgotten"),
        "change_email" => language.text("admin_did_change_email"),
        "set_email" => language.text("admin_did_set_email"),
        "add_factor" => language.text("admin_did_add_factor"),
        "remove_factor" => language.text("admin_did_remove_factor"),
        "reset_factors" => language.text("admin_did_reset_factors"),
        "recovery_code" => language.text("admin_did_recovery_code"),
        "new_recovery_codes" => language.text("admin_did_new_recovery_codes"),
        "add_passkey" => language.text("admin_did_add_passkey"),
        "remove_passkey" => language.text("admin_did_remove_passkey"),
        "make_group" => language.text("admin_did_make_group"),
        "rename_group" => language.text("admin_did_rename_group"),
        "end_group" => language.text("admin_did_end_group"),
        "add_member" => language.text("admin_did_add_member"),
        "set_member_role" => language.text("admin_did_set_member_role"),
        "remove_member" => language.text("admin_did_remove_member"),
        "move" => language.text("admin_did_move"),
        _ => return None,
    })
}

/// To what: an account, a removal, a link or a host, by its name.
fn subject(action: &str, subject: String, language: Language) -> String {
    // The text of the action says it all.
    if action == "see_targets" {
        return String::new();
    }
    match subject.split_once(' ') {
        Some(("user", number)) => language.with("admin_account_n", &[("n", number)]),
        Some(("removal", number)) => language.with("admin_removal_n", &[("n", number)]),
        Some(("invitation", number)) => language.with("admin_invitation_n", &[("n", number)]),
        Some(("group", number)) => language.with("admin_group_n", &[("n", number)]),
        Some(("link" | "domain", name)) => name.to_owned(),
        _ => subject,
    }
}

/// What a removal was of begins with its kind.
fn detail(action: &str, detail: String, language: Language) -> String {
    match detail.split_once(' ') {
        Some((kind, rest)) if matches!(action, "remove" | "revoke") => {
            format!("{} {rest}", kind_name(kind, language))
        }
        _ if detail == "admin" => language.text("admin_administrator").to_owned(),
        _ => detail,
    }
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let wanted = query.wanted(&abuse, language).await?;
    let found = found(wanted, async |wanted| abuse.audit(&wanted).await).await?;
    let names = Names::of(&abuse, language, &found, |entry| entry.user).await?;
    let row = |entry| AuditRow::of(entry, &names);
    let page = ListPage::new(&site, &admin, Section::AUDIT, &query, found, row)?;
    own_page(StatusCode::OK, &page)
}
