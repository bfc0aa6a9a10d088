//! The document as the handlers and types describe it, compared with the file that the program serves.

use std::fs;
use std::path::Path;

use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, OpenApi as Document, Ref, Required, ResponseBuilder, ServerBuilder,
};
use utoipa::{Modify, OpenApi};

use super::{DOCUMENT, DocumentJson};
use crate::config::BaseUrl;
use crate::http::paths::METRICS;
use crate::http::{ErrorBody, json_line};

/// The document: what no handler says, and the handlers in its order.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "shunt",
        description = include_str!("../preface.md"),
        license(name = "MIT OR Apache-2.0"),
    ),
    paths(
        crate::api::register::register,
        crate::api::login::login,
        crate::api::report::report,
        crate::api::me::me,
        crate::api::change_email::change_email,
        crate::api::delete_account::delete_account,
        crate::api::create_key::create_key,
        crate::api::list_keys::list_keys,
        crate::api::delete_key::delete_key,
        crate::api::change_password::change_password,
        crate::api::log_out_everywhere::log_out_everywhere,
        crate::api::groups::make,
        crate::api::groups::list,
        crate::api::groups::show,
        crate::api::groups::rename,
        crate::api::groups::delete,
        crate::api::group_members::list,
        crate::api::group_members::set,
        crate::api::group_members::remove,
        crate::api::shorten::shorten,
        crate::api::bulk::bulk,
        crate::api::export::export,
        crate::api::list_links::list,
        crate::api::tags::list,
        crate::api::tags::rename,
        crate::api::tags::delete,
        crate::api::events::events,
        crate::api::my_series::my_series,
        crate::api::my_breakdown::my_breakdown,
        crate::api::stats::stats,
        crate::api::link_series::link_series,
        crate::api::link_breakdown::link_breakdown,
        crate::api::export_series::export_series,
        crate::api::live::live,
        crate::api::statement::statement,
        crate::api::statement::keys,
        crate::api::qr::qr,
        crate::api::shares::make,
        crate::api::shares::list,
        crate::api::shares::end,
        crate::api::pool::add,
        crate::api::pool::show,
        crate::api::pool::empty,
        crate::api::show_link::show,
        crate::api::edit_link::edit,
        crate::api::delete_link::delete,
        crate::api::trash::list,
        crate::api::trash::restore,
        crate::api::trash::end,
        crate::api::hooks::make,
        crate::api::hooks::list,
        crate::api::hooks::show,
        crate::api::hooks::edit,
        crate::api::hooks::delete,
        crate::api::hooks::deliveries,
        crate::api::hooks::replay,
        crate::api::domains::domains,
        crate::api::domains::ask,
        crate::api::domains::assetlinks,
        crate::api::domains::apple_app_site_association,
        crate::api::admin::domains::add_domain,
        crate::api::admin::domains::list_domains,
        crate::api::admin::domains::show_domain,
        crate::api::admin::domains::edit_domain,
        crate::api::admin::domains::remove_domain,
        crate::api::admin::invitations::invite,
        crate::api::admin::invitations::list_invitations,
        crate::api::admin::invitations::revoke_invitation,
        crate::api::admin::audit::audit,
        crate::api::admin::search_links::search_links,
        crate::api::admin::list_removals::list_removals,
        crate::api::admin::remove::remove,
        crate::api::admin::revoke_removal::revoke_removal,
        crate::api::admin::reports::reports,
        crate::api::admin::close_report::close_report,
        crate::api::admin::search_users::search_users,
        crate::api::visit::visit,
        crate::api::visit::preview,
        crate::api::visit::visit_shared,
        crate::api::visit::preview_shared,
        crate::api::visit::unlock,
        crate::api::visit::unlock_shared,
        crate::api::health::health,
        crate::api::ready::ready,
        crate::api::well_known::robots,
        crate::api::well_known::security,
        crate::api::document::document,
        crate::api::explorer::docs,
        crate::api::explorer::explorer,
        crate::api::explorer::explorer_part,
        crate::api::prometheus::metrics,
    ),
    components(schemas(ErrorBody)),
    modifiers(&BearerScheme, &GroupHeader),
    tags(
        (name = "accounts", description = "Register, log in, see whose token it is, change and delete the account"),
        (name = "groups", description = "Share links with other accounts, as viewers, editors and owners"),
        (name = "links", description = "Shorten, follow, list, count, delete"),
        (name = "hooks", description = "Send events to an address of yours as they happen"),
        (name = "administration", description = "For administrators: remove, ban, see reports and the audit"),
        (name = "operations", description = "For operators of the service"),
        (name = "documentation", description = "This page, and its OpenAPI document"),
    ),
)]
struct Generated;

struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "A token, or on `/urls/*` and `GET /auth/me` a key of `POST /auth/keys`. Paste the `access_token` of a response to `POST /auth/register` or `POST /auth/login`: \
                 only what is between the quotes, without `Bearer`.",
            ))
            .build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("bearer", SecurityScheme::Http(bearer));
    }
}

/// The header that names a group, on each route that takes it: those of the links of an account, and of its keys.
struct GroupHeader;

impl GroupHeader {
    fn parameter() -> Parameter {
        ParameterBuilder::new()
            .name("Shunt-Group")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some("The number of a group that you act for, instead of your account: one of `GET /groups`. It needs a log-in; a key of a group needs no header."))
            .schema(Some(
                ObjectBuilder::new()
                    .schema_type(Type::Integer)
                    .minimum(Some(1)),
            ))
            .build()
    }

    fn refusals() -> [(&'static str, &'static str, &'static str); 3] {
        [
            (
                "403",
                "The role in the group is too small, or a key names a group",
                "You are a viewer of this group; this needs an editor",
            ),
            (
                "404",
                "You are no member of such a group",
                "Group not found",
            ),
            (
                "422",
                "A parameter or the header is not acceptable",
                "Shunt-Group: must be the number of a group, once",
            ),
        ]
    }

    fn is_of(operation: &Operation) -> bool {
        let has_tag = |tag| operation.tags.iter().flatten().any(|of| of == tag);
        let id = operation.operation_id.as_deref().unwrap_or_default();
        let is_of_keys = ["create_key", "list_keys", "delete_key"].contains(&id);
        operation.security.is_some() && (has_tag("links") || has_tag("hooks") || is_of_keys)
    }
}

impl Modify for GroupHeader {
    fn modify(&self, document: &mut Document) {
        for item in document.paths.paths.values_mut() {
            let operations = [
                &mut item.get,
                &mut item.post,
                &mut item.patch,
                &mut item.delete,
            ];
            for operation in operations
                .into_iter()
                .flatten()
                .filter(|of| Self::is_of(of))
            {
                operation
                    .parameters
                    .get_or_insert_default()
                    .push(Self::parameter().into());
                for (status, description, detail) in Self::refusals() {
                    let content = ContentBuilder::new()
                        .schema(Some(Ref::from_schema_name("ErrorBody")))
                        .example(Some(serde_json::json!({"detail": detail})))
                        .build();
                    let refusal = ResponseBuilder::new()
                        .description(description)
                        .content("application/json", content)
                        .build();
                    let responses = &mut operation.responses.responses;
                    responses.entry(status.to_owned()).or_insert(refusal.into());
                }
            }
        }
    }
}

/// The document of a service at this address.
pub(in crate::api) fn generated(base_url: &str) -> Document {
    let mut document = Generated::openapi();
    let server = ServerBuilder::new()
        .url(base_url)
        .description(Some("This service"));
    document.servers = Some(vec![server.build()]);
    document
}

/// The document with a value on each line, and no space after the name of a value: joined, the lines are compact JSON.
fn in_lines(document: &Document) -> String {
    let pretty = serde_json::to_string_pretty(document).unwrap();
    let lines = pretty.lines().map(|line| match line.split_once("\": ") {
        Some((name, value)) if !name.ends_with('\\') => format!("{name}\":{value}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_file_is_what_handlers_and_types_say() {
    let generated = in_lines(&generated("/"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api/openapi.json");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &generated).unwrap();
        return;
    }
    assert!(
        generated == DOCUMENT,
        "src/api/openapi.json: write it with UPDATE=1 cargo test --lib the_file_is_what"
    );
}

#[test]
fn the_document_is_served_compact_with_the_address_and_without_private_metrics() {
    let base_url = BaseUrl::parse("https://sho.rt").unwrap();
    let mut expected = generated(base_url.as_str());
    let DocumentJson(served) = DocumentJson::new(&base_url, true);
    assert_eq!(served, json_line(&expected));
    expected.paths.paths.shift_remove(METRICS);
    let DocumentJson(served) = DocumentJson::new(&base_url, false);
    assert_eq!(served, json_line(&expected));
}
