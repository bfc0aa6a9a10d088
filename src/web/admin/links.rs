//! Links of all accounts.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{Admin, ListPage, ListQuery, Names, SearchForm, Section, found, moment, removal_path};
use crate::abuse::Abuse;
use crate::domain::{RemovalStatus, Rules, SeenLink, TargetUrl};
use crate::http::{ApiError, QueryOf};
use crate::web::language::Language;
use crate::web::page::{Site, own_page};

/// A link.
#[derive(Template)]
#[template(path = "admin/links.html")]
struct FoundLinkRow {
    language: Language,
    code: String,
    target: String,
    fallback: Option<String>,
    /// Where its rules lead, each with the page on which all links to that host are removed.
    rules: Vec<(String, Option<String>)>,
    owner: i64,
    account: String,
    made: String,
    address: Option<String>,
    is_active: bool,
    removed: Option<String>,
    has_password: bool,
    remove_path: String,
    host_path: Option<String>,
    fallback_path: Option<String>,
    address_path: Option<String>,
}

impl FoundLinkRow {
    fn of(link: SeenLink, abuse: &Abuse, names: &Names) -> Self {
        let language = names.language;
        let code = abuse.shown_code(&link.code);
        let host = link.target.host();
        let fallback = link.fallback.as_ref();
        let fallback_host = fallback.and_then(TargetUrl::host);
        let rules = link.rules.iter().flat_map(Rules::targets);
        let rule = |target: &TargetUrl| {
            let path = target.host().map(|host| removal_path("host", &host));
            (target.as_str().to_owned(), path)
        };
        let removed = |status: RemovalStatus| {
            let status = status.code().to_string();
            language.with("admin_removed_with", &[("status", &status)])
        };
        Self {
            language,
            rules: rules.map(rule).collect(),
            remove_path: removal_path("link", &code),
            host_path: host.map(|host| removal_path("host", &host)),
            fallback_path: fallback_host.map(|host| removal_path("host", &host)),
            address_path: link
                .address
                .as_deref()
                .map(|at| removal_path("address", at)),
            code,
            target: link.target.as_str().to_owned(),
            fallback: link.fallback.map(|fallback| fallback.as_str().to_owned()),
            owner: link.owner.0,
            account: names.name(link.owner),
            made: moment(language, link.created_at),
            address: link.address,
            is_active: link.is_active,
            removed: link.removed.map(removed),
            has_password: link.has_password,
        }
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
    let found = found(wanted, async |wanted| {
        abuse.links(&admin.administrator, &wanted).await
    });
    let form = SearchForm {
        language,
        section: Section::LINKS,
        label: language.text("admin_search_links"),
        has_owner: true,
        query: &query,
    };
    let found = found.await?;
    let names = Names::of(&abuse, language, &found, |link| Some(link.owner)).await?;
    let page = ListPage::new(&site, &admin, form.section, &query, found, |link| {
        FoundLinkRow::of(link, &abuse, &names)
    })?;
    own_page(StatusCode::OK, &page.with_form(&form)?)
}
