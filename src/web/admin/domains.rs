//! Hosts beside the service's own: found, added, changed and removed.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::domain_form::DomainForm;
use super::faults::Refused;
use super::question::{Question, asked};
use super::{Admin, ListPage, ListQuery, Section, found};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{DomainHost, InvalidDomain, ListedDomain, TargetUrl, Zone};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::web::form::Form;
use crate::web::language::Language;
use crate::web::page::{Frame, Site, own_page, see_other};

/// The most links of a host that are counted.
const MANY_LINKS: u64 = 1_000;

/// Owners that a list names; of more it says how many.
const NAMED_OWNERS: usize = 3;

/// A host in the list.
#[derive(Template)]
#[template(path = "admin/domains.html")]
struct DomainRow {
    language: Language,
    host: String,
    path: String,
    links: String,
    owners: String,
    root: Option<String>,
    made: String,
}

impl DomainRow {
    fn of(listed: ListedDomain, language: Language) -> Self {
        let ListedDomain { domain, links } = listed;
        let made = language.date(domain.created_at, &Zone::UTC);
        Self {
            language,
            path: path_of(&domain.host),
            host: domain.host.to_string(),
            links: if links < MANY_LINKS {
                language.count("admin_links", links)
            } else {
                language.count("admin_links_or_more", MANY_LINKS)
            },
            owners: match domain.owners {
                None => language.text("admin_for_all").to_owned(),
                Some(owners) if owners.is_empty() => language.text("admin_for_none").to_owned(),
                Some(owners) => {
                    let named = owners[..owners.len().min(NAMED_OWNERS)].join(", ");
                    match owners.len().saturating_sub(NAMED_OWNERS) {
                        0 => named,
                        more => {
                            let more = language.count("admin_more_accounts", more as u64);
                            format!("{named} {more}")
                        }
                    }
                }
            },
            root: domain.root.map(|root| root.as_str().to_owned()),
            made: language.with("admin_since", &[("date", &made)]),
        }
    }
}

/// The page of a host.
fn path_of(host: &DomainHost) -> String {
    format!("{}/{}", Section::DOMAINS.path, host.name())
}

/// What stands above the list: the search, and the form of a new host.
#[derive(Template)]
#[template(path = "admin/new_domain.html")]
struct NewDomain<'a> {
    language: Language,
    section: Section,
    query: &'a ListQuery,
    csrf: &'a str,
    form: &'a DomainForm,
}

/// The page of a host.
#[derive(Template)]
#[template(path = "admin/domain.html")]
struct DomainPage<'a> {
    frame: Frame<'a>,
    section: Section,
    said: &'static str,
    csrf: &'a str,
    host: &'a str,
    path: String,
    form: &'a DomainForm,
}

pub(in crate::web) async fn show(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    list(
        &abuse,
        &site,
        &admin,
        &query,
        &DomainForm::default(),
        StatusCode::OK,
    )
    .await
}

async fn list(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    query: &ListQuery,
    form: &DomainForm,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let (language, section) = (admin.language(), Section::DOMAINS);
    let wanted = query.wanted(abuse, language).await?;
    let found = found(wanted, async |wanted| abuse.listed_domains(&wanted).await).await?;
    let row = |listed| DomainRow::of(listed, language);
    let mut page = ListPage::new(site, admin, section, query, found, row)?;
    page.said = match query.done.as_str() {
        "added" => language.text("admin_domain_added"),
        "deleted" => language.text("admin_domain_deleted"),
        "none" => language.text("admin_no_domain"),
        _ => "",
    };
    let csrf = admin.signed_in.owner().csrf;
    let form = NewDomain {
        language,
        section,
        query,
        csrf,
        form,
    };
    own_page(status, &page.with_form(&form)?)
}

pub(in crate::web) async fn add(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let sent = DomainForm::sent(&form);
    let added = async {
        let host = sent.host().map_err(AbuseError::from)?;
        if links.own_host.is_named(&host) {
            return Err(AbuseError::from(InvalidDomain::Own));
        }
        let edit = abuse.domain_edit(&host, sent.fields()?).await?;
        abuse.add_domain(&admin.administrator, &host, &edit).await
    };
    match added.await {
        Ok((_, changes)) => {
            links.announce_hosts(&changes).await?;
            Ok(see_other("/app/admin/domains?done=added"))
        }
        Err(error) => {
            let refused = Refused::of(error, admin.language())?;
            let (query, status) = (ListQuery::default(), refused.status);
            let form = sent.refused(refused);
            list(&abuse, &site, &admin, &query, &form, status).await
        }
    }
}

/// The host in a path.
fn host_in_path(raw: &str) -> Result<DomainHost, ApiError> {
    DomainHost::parse(raw).map_err(|_| ApiError::not_found())
}

pub(in crate::web) async fn show_one(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(host): Path<String>,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    let domain = abuse.domain(&host_in_path(&host)?).await?;
    let said = if query.done == "changed" {
        admin.language().text("admin_domain_saved")
    } else {
        ""
    };
    let form = DomainForm::of(&domain);
    one(&site, &admin, &domain.host, said, &form, StatusCode::OK)
}

fn one(
    site: &Site,
    admin: &Admin,
    host: &DomainHost,
    said: &'static str,
    form: &DomainForm,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let owner = admin.signed_in.owner();
    let page = DomainPage {
        frame: Frame::own(site, owner),
        section: Section::DOMAINS,
        said,
        csrf: owner.csrf,
        host: host.as_str(),
        path: path_of(host),
        form,
    };
    own_page(status, &page)
}

pub(in crate::web) async fn edit(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    Path(host): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let host = abuse.domain(&host_in_path(&host)?).await?.host;
    let sent = DomainForm::sent(&form);
    let edited = async {
        let edit = abuse.domain_edit(&host, sent.fields()?).await?;
        abuse.edit_domain(&admin.administrator, &host, &edit).await
    };
    match edited.await {
        Ok((_, changes)) => {
            links.announce_hosts(&changes).await?;
            Ok(see_other(&format!("{}?done=changed", path_of(&host))))
        }
        Err(error) => {
            let refused = Refused::of(error, admin.language())?;
            let status = refused.status;
            one(&site, &admin, &host, "", &sent.refused(refused), status)
        }
    }
}

/// Asks whether to delete a host.
pub(in crate::web) async fn ask(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(host): Path<String>,
) -> Result<Response, ApiError> {
    let domain = abuse.domain(&host_in_path(&host)?).await?;
    let language = admin.language();
    let path = path_of(&domain.host);
    let root = domain.root.as_ref().map(TargetUrl::as_str);
    let question = Question {
        title: language.with(
            "admin_delete_domain_title",
            &[("host", domain.host.as_str())],
        ),
        facts: root
            .map(|root| (language.text("admin_root"), root.to_owned()))
            .into_iter()
            .collect(),
        text: language.text("admin_delete_domain_text").to_owned(),
        action: format!("{path}/delete"),
        fields: Vec::new(),
        yes: language.text("admin_delete"),
        back: path,
    };
    asked(&site, &admin, question)
}

pub(in crate::web) async fn delete(
    State(abuse): State<Arc<Abuse>>,
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    admin: Admin,
    Path(host): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let host = host_in_path(&host)?;
    match abuse.remove_domain(&admin.administrator, &host).await {
        Ok(changes) => {
            links.announce_hosts(&changes).await?;
            Ok(see_other("/app/admin/domains?done=deleted"))
        }
        Err(AbuseError::NoDomain) => Ok(see_other("/app/admin/domains?done=none")),
        Err(error @ AbuseError::DomainHasLinks) => {
            let refused = Refused::of(error, admin.language())?;
            let status = refused.status;
            let domain = abuse.domain(&host).await?;
            let form = DomainForm::of(&domain).refused(refused);
            one(&site, &admin, &domain.host, "", &form, status)
        }
        Err(error) => Err(error.into()),
    }
}
