//! The JSON API: one file per endpoint, and the routes, one a line.

use std::sync::Arc;

use axum::extract::FromRef;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::routing::{delete, get, patch, post, put};
use axum::{Extension, Router};

use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::config::{BaseUrl, Guards};
use crate::domain::rules::MAX_JSON;
use crate::events::{Feeds, Hooks};
use crate::http::paths::{self, METRICS};
use crate::http::{
    self, Admission, BodyLimits, TrustedProxies, refuse_cross_origin, with_admission, with_domain,
};
use crate::links::{LinkService, LiveCounts};
use crate::mail::{AccountMail, InvitationMail};
use crate::redirect::{LinkPasswords, Redirect};
use crate::statements::Statements;
use crate::telemetry::exposition::Exposition;

mod account_bodies;
mod admin;
mod authentication;
mod base_address;
mod breakdown_body;
mod bulk;
mod bulk_document;
mod change_email;
mod change_password;
mod create_key;
mod delete_account;
mod delete_key;
mod delete_link;
mod document;
mod domains;
mod edit_link;
mod entity_tags;
mod events;
mod explorer;
mod export;
mod export_series;
mod for_pages;
mod group_members;
mod groups;
mod health;
mod hook_bodies;
mod hooks;
mod idempotency_key;
mod key_body;
mod link_body;
mod link_breakdown;
mod link_series;
mod link_stream;
mod list_keys;
mod list_links;
mod live;
mod log_out_everywhere;
mod login;
mod me;
mod measured;
mod my_breakdown;
mod my_series;
mod pool;
mod prometheus;
mod qr;
mod ready;
mod register;
mod report;
mod series_body;
mod shares;
mod shorten;
mod show_link;
mod statement;
mod stats;
mod tags;
mod trash;
mod visit;
mod well_known;
#[cfg(test)]
mod words;

use document::DocumentJson;
use measured::{measured, start_at_zero};

pub use base_address::BaseAddress;
pub use for_pages::{csv_of_links, ndjson_of_links};
pub use qr::QrLogo;
pub use ready::Readiness;
pub use well_known::SecurityContact;

/// The services that handlers call; each takes the one it needs. The router copies this several times per request.
#[derive(Clone, FromRef)]
pub struct ApiState {
    /// Registration, log-in, tokens.
    pub accounts: Arc<Accounts>,
    /// Links of owners.
    pub links: Arc<LinkService>,
    /// The clicks of months, signed.
    pub statements: Arc<Statements>,
    /// Removals and reports.
    pub abuse: Arc<Abuse>,
    /// Counts as they rise.
    pub live: Arc<LiveCounts>,
    /// The feeds of events.
    pub feeds: Arc<Feeds>,
    /// Receivers of events.
    pub hooks: Arc<Hooks>,
    /// The redirect path, for codes that need decoding.
    pub redirect: Arc<Redirect>,
    /// Passwords of links.
    pub link_passwords: Arc<LinkPasswords>,
    /// The dependencies of readiness.
    pub readiness: Arc<Readiness>,
    /// Renders the metrics.
    pub metrics: Exposition,
    /// For links to the next page.
    pub base_address: BaseAddress,
    /// For QR codes.
    pub qr_logo: QrLogo,
    /// For `security.txt`.
    pub security_contact: SecurityContact,
    /// Mails owners of accounts.
    pub account_mail: AccountMail,
    /// Mails invitations.
    pub invitation_mail: InvitationMail,
}

/// The API: all routes, with metrics, security headers and fallbacks around them. `/metrics` is one of them where
/// `public_metrics` says so. `admission` bounds the requests that are worked on.
/// `pages` are routes beside the API's, which the same layers are put around.
pub fn router(
    state: ApiState,
    proxies: TrustedProxies,
    base_url: &BaseUrl,
    guards: &Guards,
    admission: &Admission,
    public_metrics: bool,
    pages: Router,
) -> Router {
    let document = DocumentJson::new(base_url, public_metrics);
    let own_host = state.links.own_host.clone();
    start_at_zero(&document);
    routes(base_url, guards, admission, public_metrics)
        .with_state(state)
        .merge(pages)
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(from_fn_with_state(own_host, with_domain))
        .layer(from_fn(measured))
        .layer(map_response(http::with_security_headers))
        .layer(Extension(document))
        .layer(Extension(proxies))
        .layer(from_fn(http::catch_panic))
}

/// All routes. Each is also in the description of its handlers and in the table [`http::paths`]: a test compares them.
fn routes(
    base_url: &BaseUrl,
    guards: &Guards,
    admission: &Admission,
    public_metrics: bool,
) -> Router<ApiState> {
    let own_origin = Arc::<str>::from(base_url.as_str());
    let without_token = Router::new()
        .route("/auth/register", post(register::register))
        .route("/auth/login", post(login::login))
        .route("/report", post(report::report))
        .route_layer(from_fn_with_state(own_origin, refuse_cross_origin));
    // JSON may escape each letter of a note, and of its rules, as several bytes.
    let of_link = Extension(BodyLimits {
        bytes: 3 * guards.max_body_bytes + 2 * MAX_JSON,
        timeout: guards.body_timeout,
    });
    // Two files of 64 KiB, each as a text in JSON at most.
    let of_host = Extension(BodyLimits {
        bytes: guards.max_body_bytes + 256 * 1_024,
        timeout: guards.body_timeout,
    });
    let of_shares = post(shares::make).get(shares::list);
    let of_me = get(me::me).patch(change_email::change_email);
    let of_pool = post(pool::add).get(pool::show).delete(pool::empty);
    let routes = Router::new()
        .merge(without_token)
        .route("/urls/{short_code}/pool", of_pool)
        .route("/auth/me", of_me.delete(delete_account::delete_account))
        .route(
            "/auth/keys",
            post(create_key::create_key).get(list_keys::list_keys),
        )
        .route("/auth/keys/{id}", delete(delete_key::delete_key))
        .route("/auth/password", post(change_password::change_password))
        .route(
            "/auth/logout-everywhere",
            post(log_out_everywhere::log_out_everywhere),
        )
        .route("/urls/shorten", post(shorten::shorten).layer(of_link))
        .route("/urls/bulk", post(bulk::bulk))
        .route("/urls/export", get(export::export))
        .route("/urls/my", get(list_links::list))
        .route("/urls/tags", get(tags::list))
        .route("/urls/tags/{tag}", patch(tags::rename).delete(tags::delete))
        .route("/urls/trash", get(trash::list))
        .route("/urls/trash/{short_code}", delete(trash::end))
        .route("/urls/{short_code}/restore", post(trash::restore))
        .route("/urls/my/events", get(events::events))
        .route("/urls/my/series", get(my_series::my_series))
        .route("/urls/my/breakdown", get(my_breakdown::my_breakdown))
        .route("/urls/{short_code}/stats", get(stats::stats))
        .route(
            "/urls/{short_code}/stats/series",
            get(link_series::link_series),
        )
        .route(
            "/urls/{short_code}/stats/breakdown",
            get(link_breakdown::link_breakdown),
        )
        .route(
            "/urls/{short_code}/stats/export",
            get(export_series::export_series),
        )
        .route("/urls/{short_code}/stats/live", get(live::live))
        .route("/urls/{short_code}/statement", get(statement::statement))
        .route(paths::STATEMENT_KEYS, get(statement::keys))
        .route("/urls/{short_code}/qr", get(qr::qr))
        .route("/urls/{short_code}/shares", of_shares)
        .route("/urls/{short_code}/shares/{id}", delete(shares::end))
        .route(
            "/urls/{short_code}",
            get(show_link::show)
                .patch(edit_link::edit)
                .delete(delete_link::delete)
                .layer(of_link),
        )
        .merge(administration(of_host))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .layer(Extension(BodyLimits {
            bytes: guards.max_body_bytes,
            timeout: guards.body_timeout,
        }))
        .route(
            "/urls/r/{short_code}",
            get(visit::visit).head(visit::preview).post(visit::unlock),
        )
        .route(
            "/{short_code}",
            get(visit::visit_shared)
                .head(visit::preview_shared)
                .post(visit::unlock_shared),
        )
        .route("/domains/ask", get(domains::ask))
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .route("/robots.txt", get(well_known::robots))
        .route("/.well-known/security.txt", get(well_known::security))
        .route("/openapi.json", get(document::document))
        .route("/docs", get(explorer::docs))
        .route("/docs/", get(explorer::explorer))
        .route("/docs/{file}", get(explorer::explorer_part));
    if public_metrics {
        routes.route(METRICS, get(prometheus::metrics))
    } else {
        routes
    }
}

/// The routes of administrators, of hosts beside the service's own, of hooks, and of groups.
fn administration(of_host: Extension<BodyLimits>) -> Router<ApiState> {
    Router::new()
        .route("/admin/audit", get(admin::audit::audit))
        .route(
            "/admin/domains",
            get(admin::domains::list_domains)
                .post(admin::domains::add_domain)
                .layer(of_host),
        )
        .route(
            "/admin/domains/{host}",
            get(admin::domains::show_domain)
                .patch(admin::domains::edit_domain)
                .delete(admin::domains::remove_domain)
                .layer(of_host),
        )
        .route("/hooks", get(hooks::list).post(hooks::make))
        .route(
            "/hooks/{id}",
            get(hooks::show).patch(hooks::edit).delete(hooks::delete),
        )
        .route("/hooks/{id}/deliveries", get(hooks::deliveries))
        .route("/hooks/{id}/replay", post(hooks::replay))
        .route("/domains", get(domains::domains))
        .route(paths::ANDROID_FILE, get(domains::assetlinks))
        .route(paths::APPLE_FILE, get(domains::apple_app_site_association))
        .route(
            "/admin/invitations",
            get(admin::invitations::list_invitations).post(admin::invitations::invite),
        )
        .route(
            "/admin/invitations/{id}",
            delete(admin::invitations::revoke_invitation),
        )
        .route("/admin/links", get(admin::search_links::search_links))
        .route(
            "/admin/removals",
            get(admin::list_removals::list_removals).post(admin::remove::remove),
        )
        .route(
            "/admin/removals/{id}",
            delete(admin::revoke_removal::revoke_removal),
        )
        .route("/admin/reports", get(admin::reports::reports))
        .route(
            "/admin/reports/{id}",
            delete(admin::close_report::close_report),
        )
        .route("/admin/users", get(admin::search_users::search_users))
        .route("/groups", get(groups::list).post(groups::make))
        .route(
            "/groups/{id}",
            (get(groups::show).patch(groups::rename)).delete(groups::delete),
        )
        .route("/groups/{id}/members", get(group_members::list))
        .route(
            "/groups/{id}/members/{member}",
            put(group_members::set).delete(group_members::remove),
        )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::paths::ROUTES;

    /// The templates that axum's router has, hidden from the document or not. Only its `Debug` names them.
    fn templates_of(router: &Router<ApiState>) -> BTreeSet<String> {
        let debug = format!("{router:?}");
        let own = debug.split("fallback_router").next().unwrap_or_default();
        let quoted = own
            .split("RouteId(")
            .filter_map(|id| id.split_once("): \""));
        quoted
            .filter_map(|(_, path)| Some(path.split_once('"')?.0.to_owned()))
            .collect()
    }

    #[tokio::test]
    async fn the_router_the_document_and_the_table_of_paths_have_the_same_routes() {
        let base_url = BaseUrl::parse("https://sho.rt").unwrap();
        let guards = Guards::smallest();
        let served = routes(&base_url, &guards, &Admission::new(&guards), true);
        let document = DocumentJson::new(&base_url, true).operations();
        let table: BTreeSet<_> = ROUTES
            .iter()
            .map(|route| route.template.to_owned())
            .collect();
        let documented: BTreeSet<_> = document.into_iter().map(|(route, ..)| route).collect();
        assert_eq!(documented, table);
        assert_eq!(templates_of(&served), table);
        assert_eq!(table.len(), ROUTES.len(), "each route is in the table once");
    }
}
