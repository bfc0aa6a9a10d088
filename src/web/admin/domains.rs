//! Hosts beside the service's own: found, added, changed and removed.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::domain_form::DomainForm;
use super::{Admin, ListPage, ListQuery, Section};
use crate::abuse::{Abuse, AbuseError};
use crate::domain::{DomainHost, InvalidDomain, ListedDomain, TargetUrl};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::web::form::Form;
use crate::web::page::{Frame, Site, number_of, own_page, see_other};
use crate::web::questions::{Question, asked};

/// The most links of a host that are counted.
const MANY_LINKS: u64 = 1_000;

/// Owners that a list names; of more it says how many.
const NAMED_OWNERS: usize = 3;

/// A host in the list.
#[derive(Template)]
#[template(path = "admin/domains.html")]
struct DomainRow {
    host: String,
    path: String,
    links: String,
    owners: String,
    root: Option<String>,
    made: String,
}

impl DomainRow {
    fn of(listed: ListedDomain) -> Self {
        let ListedDomain { domain, links } = listed;
        Self {
            path: path_of(&domain.host),
            host: domain.host.to_string(),
            links: if links < MANY_LINKS {
                number_of(links, "link")
            } else {
                "1,000 links or more".to_owned()
            },
            owners: match domain.owners {
                None => "every account".to_owned(),
                Some(owners) if owners.is_empty() => "no account".to_owned(),
                Some(owners) => {
                    let named = owners[..owners.len().min(NAMED_OWNERS)].join(", ");
                    match owners.len().saturating_sub(NAMED_OWNERS) {
                        0 => named,
                        more => format!("{named} and {}", number_of(more as u64, "more account")),
                    }
                }
            },
            root: domain.root.map(|root| root.as_str().to_owned()),
            made: domain.created_at.date(),
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
    let found = async { Ok(abuse.listed_domains(&query.wanted(abuse).await?).await?) };
    let (section, found) = (Section::DOMAINS, found.await);
    let mut page = ListPage::new(site, admin, section, query, found, DomainRow::of)?;
    page.said = match query.done.as_str() {
        "added" => "Added. Every instance knows it within a second.",
        "deleted" => "Deleted.",
        "none" => "There is no such domain.",
        _ => "",
    };
    let csrf = admin.signed_in.owner().csrf;
    let form = NewDomain {
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
        let host = sent.host()?;
        if links.own_host.is_named(&host) {
            return Err(AbuseError::from(InvalidDomain::Own));
        }
        let edit = abuse.domain_edit(&host, sent.fields()?).await?;
        abuse.add_domain(&admin.administrator, &host, &edit).await
    };
    match added.await.map_err(ApiError::from) {
        Ok((_, changes)) => {
            links.announce_hosts(&changes).await?;
            Ok(see_other("/app/admin/domains?done=added"))
        }
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => {
            let query = ListQuery::default();
            let form = sent.refused(&error);
            list(&abuse, &site, &admin, &query, &form, error.status()).await
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
        "Saved. Every instance knows it within a second."
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
    match edited.await.map_err(ApiError::from) {
        Ok((_, changes)) => {
            links.announce_hosts(&changes).await?;
            Ok(see_other(&format!("{}?done=changed", path_of(&host))))
        }
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => {
            let form = sent.refused(&error);
            one(&site, &admin, &host, "", &form, error.status())
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
    let root = domain.root.as_ref().map(TargetUrl::as_str);
    let leads = root.map_or_else(String::new, |root| {
        format!(" It no longer leads to {root}.")
    });
    let path = path_of(&domain.host);
    let question = Question {
        title: format!("Delete the domain {}?", domain.host),
        text: format!(
            "Requests for this host are answered like requests for the service's own host.{leads}"
        ),
        action: format!("{path}/delete"),
        yes: "Delete",
        no: "Cancel",
        back: path,
        ..Question::default()
    };
    asked(&site, &admin.signed_in, StatusCode::OK, question)
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
            let error = ApiError::from(error);
            let domain = abuse.domain(&host).await?;
            let form = DomainForm::of(&domain).refused(&error);
            one(&site, &admin, &domain.host, "", &form, error.status())
        }
        Err(error) => Err(error.into()),
    }
}
