//! Which page answers which path.

use std::sync::Arc;

use axum::extract::FromRef;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::config::Guards;
use crate::domain::rules::MAX_JSON;
use crate::events::Hooks;
use crate::http::{Admission, BodyLimits, with_admission};
use crate::links::{LinkService, LiveCounts};
use crate::mail::{AccountMail, InvitationMail};
use crate::statements::Statements;

use super::admin::Health;
use super::documents::LinkDocuments;
use super::page::Site;
use super::{
    account, admin, all_links, assets, edit_link, email, error_pages, every_link, forgot, group,
    group_keys, group_members, groups, hooks, import, join, keys, links, live, new_link, oidc,
    one_link, passkeys, preview, qr_page, questions, report, rules, shared, shares, sharing,
    sign_in, sign_in_code, sign_in_passkey, start, statements, tags, trash, two_factors,
};

/// The services that pages call.
#[derive(Clone, FromRef)]
pub struct WebState {
    /// Accounts and their sessions.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// The clicks of months, signed.
    pub statements: Arc<Statements>,
    /// Receivers of events.
    pub hooks: Arc<Hooks>,
    /// Removals and reports.
    pub abuse: Arc<Abuse>,
    /// Counts as they rise.
    pub live: Arc<LiveCounts>,
    /// Links as documents.
    pub documents: LinkDocuments,
    /// How Redis is.
    pub health: Health,
    /// Mails owners of accounts.
    pub account_mail: AccountMail,
    /// Mails invitations.
    pub invitation_mail: InvitationMail,
    /// What the operator says of the service.
    pub site: Site,
}

/// All pages. The caller puts the layers of every response around them.
pub fn router(state: WebState, guards: &Guards, admission: &Admission) -> Router {
    let limits = |bytes| {
        Extension(BodyLimits {
            bytes,
            timeout: guards.body_timeout,
        })
    };
    // A form percent-encodes its texts, each byte as three.
    let link_form = || limits(3 * guards.max_body_bytes);
    let rules_form = limits(3 * guards.max_body_bytes + MAX_JSON);
    Router::new()
        .route("/app", get(links::overview))
        .merge(account())
        .merge(group_pages())
        .merge(hook_pages())
        .merge(bin_and_shares())
        .merge(identity_provider())
        .merge(administration(link_form()))
        .route("/app/all", get(all_links::show))
        .route("/app/all/count", get(all_links::count))
        .route("/app/all/export", get(all_links::export))
        .route("/app/export", get(import::export))
        .route(
            "/app/import",
            get(import::show)
                .post(import::import)
                .layer(Extension(import::LIMITS)),
        )
        .route(
            "/app/links",
            get(links::list).post(new_link::make).layer(link_form()),
        )
        .route(
            "/app/links/new",
            get(new_link::new)
                .post(new_link::new_with)
                .layer(link_form()),
        )
        .route("/app/links/selected", post(links::selected))
        .route(
            "/app/links/selected/delete",
            get(every_link::show_question).post(every_link::ask_to_delete),
        )
        .route(
            "/app/links/{short_code}",
            get(one_link::show).post(edit_link::switch),
        )
        .route(
            "/app/links/{short_code}/delete",
            get(questions::delete_link).post(one_link::delete),
        )
        .route(
            "/app/links/{short_code}/edit",
            get(edit_link::show)
                .post(edit_link::save)
                .layer(link_form()),
        )
        .route("/app/links/{short_code}/export", get(one_link::export))
        .route("/app/links/{short_code}/live", get(live::live))
        .route("/app/links/{short_code}/qr", get(qr_page::show))
        .route(
            "/app/links/{short_code}/rules",
            get(rules::show).post(rules::change).layer(rules_form),
        )
        .route("/app/login", get(sign_in::show).post(sign_in::log_in))
        .route(
            "/app/login/code",
            get(sign_in_code::show).post(sign_in_code::check),
        )
        .route("/app/login/passkey", post(sign_in_passkey::sign_in))
        .route(
            "/app/register",
            get(sign_in::show_register).post(sign_in::register),
        )
        .route("/app/forgot", get(forgot::show).post(forgot::ask))
        .route(
            "/app/forgot/{token}",
            get(forgot::choose).post(forgot::reset),
        )
        .route("/app/join/{token}", get(join::show).post(join::join))
        .route("/app/logout", post(sign_in::log_out))
        .route(
            "/app/logout-everywhere",
            get(questions::sign_out_everywhere).post(account::log_out_everywhere),
        )
        .route("/app/preview/{short_code}", get(preview::preview))
        .route(
            "/app/report/{short_code}",
            get(report::show).post(report::send),
        )
        .route("/app/tags", get(tags::show).post(tags::rename))
        .route("/app/tags/delete", get(tags::ask).post(tags::delete))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .route_layer(from_fn_with_state(
            state.clone(),
            error_pages::in_frame_of_account,
        ))
        .layer(limits(guards.max_body_bytes))
        .route("/", get(start::start))
        .route("/app/manifest.webmanifest", get(sharing::manifest))
        .route("/assets/{file}", get(assets::asset))
        .with_state(state)
}

/// The bin, who reads the statistics of a link beside its owner, and its statements.
fn bin_and_shares() -> Router<WebState> {
    Router::new()
        .route(
            "/app/links/{short_code}/shares",
            get(shares::show).post(shares::make),
        )
        .route("/app/links/{short_code}/shares/{id}/end", post(shares::end))
        .route(
            "/app/links/{short_code}/statement",
            get(statements::download),
        )
        .route("/app/links/{short_code}/statements", get(statements::show))
        .route("/app/shared/{token}", get(shared::show))
        .route("/app/trash", get(trash::show))
        .route("/app/trash/restore", post(trash::restore))
        .route(
            "/app/trash/{short_code}/delete",
            get(trash::ask_to_end).post(trash::end),
        )
}

/// Signing in by an identity provider.
fn identity_provider() -> Router<WebState> {
    Router::new()
        .route("/app/oidc/backchannel-logout", post(oidc::end_sessions))
        .route("/app/oidc/callback", get(oidc::finish))
        .route("/app/oidc/join", get(oidc::show_join).post(oidc::join))
        .route("/app/oidc/login", get(oidc::begin))
        .route("/app/oidc/logout", get(oidc::sign_out_there))
}

/// The pages of an account itself.
fn account() -> Router<WebState> {
    Router::new()
        .route("/app/account", get(account::show))
        .route(
            "/app/account/delete",
            get(questions::delete_account).post(account::delete),
        )
        .route("/app/account/email", get(email::show).post(email::ask))
        .route(
            "/app/account/email/{token}",
            get(email::question).post(email::confirm),
        )
        .route("/app/account/keys", post(keys::make))
        .route(
            "/app/account/keys/{id}/delete",
            get(questions::end_key).post(keys::delete),
        )
        .route("/app/account/language", post(account::choose_language))
        .route("/app/account/password", post(account::change_password))
        .route("/app/account/sharex", post(sharing::share_x))
        .route(
            "/app/account/sessions/{id}/end",
            get(questions::end_session).post(account::end_session),
        )
        .route(
            "/app/account/passkeys",
            get(passkeys::show).post(passkeys::change),
        )
        .route(
            "/app/account/two-factors",
            get(two_factors::show).post(two_factors::change),
        )
}

/// The pages of groups.
fn group_pages() -> Router<WebState> {
    Router::new()
        .route("/app/groups", get(groups::show).post(groups::make))
        .route("/app/groups/choose", post(groups::choose))
        .route("/app/groups/{id}", get(group::show).post(group::rename))
        .route(
            "/app/groups/{id}/delete",
            get(group::ask_to_delete).post(group::delete),
        )
        .route("/app/groups/{id}/keys", post(group_keys::make))
        .route(
            "/app/groups/{id}/keys/{key}/delete",
            get(group_keys::ask).post(group_keys::delete),
        )
        .route("/app/groups/{id}/members", post(group_members::set_member))
        .route(
            "/app/groups/{id}/members/{member}/remove",
            get(group_members::ask_to_remove).post(group_members::remove_member),
        )
}

/// The pages of hooks.
fn hook_pages() -> Router<WebState> {
    Router::new()
        .route("/app/hooks", get(hooks::show).post(hooks::make))
        .route("/app/hooks/{id}", get(hooks::show_one).post(hooks::change))
        .route(
            "/app/hooks/{id}/delete",
            get(hooks::ask_to_delete).post(hooks::delete),
        )
}

/// The pages of administrators; a form of a host may be as large as one of a link.
fn administration(form: Extension<BodyLimits>) -> Router<WebState> {
    Router::new()
        .route("/app/admin", get(admin::overview::show))
        .route("/app/admin/accounts", get(admin::accounts::show))
        .route(
            "/app/admin/accounts/{id}/unban",
            post(admin::accounts::revoke_ban),
        )
        .route(
            "/app/admin/accounts/{id}/password",
            get(admin::roles::ask_password).post(admin::roles::reset_password),
        )
        .route(
            "/app/admin/accounts/{id}/role",
            get(admin::roles::ask_role).post(admin::roles::set_role),
        )
        .route(
            "/app/admin/accounts/{id}/factors",
            get(admin::factors::ask).post(admin::factors::reset),
        )
        .route("/app/admin/audit", get(admin::audit::show))
        .route(
            "/app/admin/domains",
            get(admin::domains::show)
                .post(admin::domains::add)
                .layer(form),
        )
        .route(
            "/app/admin/domains/{host}",
            get(admin::domains::show_one)
                .post(admin::domains::edit)
                .layer(form),
        )
        .route(
            "/app/admin/domains/{host}/delete",
            get(admin::domains::ask).post(admin::domains::delete),
        )
        .route(
            "/app/admin/invitations",
            get(admin::invitations::show).post(admin::invitations::invite),
        )
        .route(
            "/app/admin/invitations/{id}/revoke",
            post(admin::invitations::revoke),
        )
        .route("/app/admin/links", get(admin::links::show))
        .route(
            "/app/admin/removals",
            get(admin::removals::show).post(admin::removals::make),
        )
        .route("/app/admin/removals/ask", post(admin::removals::ask))
        .route(
            "/app/admin/removals/{id}/revoke",
            post(admin::removals::revoke),
        )
        .route("/app/admin/reports", get(admin::reports::show))
        .route("/app/admin/reports/{id}/close", post(admin::reports::close))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::http::paths::{PAGES, route_of};

    /// The paths in this file's own calls of `route`.
    fn served() -> BTreeSet<String> {
        let source = include_str!("routes.rs");
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = source.split(".route(").skip(1);
        let first = |call: &str| Some(call.split_once('"')?.1.split_once('"')?.0.to_owned());
        calls.filter_map(first).collect()
    }

    #[test]
    fn every_page_is_in_the_table_of_paths_and_the_other_way_round() {
        let table: BTreeSet<_> = PAGES.iter().map(|page| page.template.to_owned()).collect();
        assert_eq!(served(), table);
        for page in PAGES {
            assert_eq!(route_of(page.template), Some(&page));
        }
    }
}
