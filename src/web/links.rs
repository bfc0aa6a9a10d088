//! The list of an owner's links, and new links.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::link_form::LinkForm;
use super::link_list::{LinkRow, ListQuery, PER_PAGE, searched_as_far_as};
use super::page::{Frame, Site, minute, own_page, own_page_as_of, refused_page, see_other};
use super::prefilled::Prefilled;
use super::selected_links::{PARTLY, act_on_all};
use super::session::SignedIn;
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::LinkService;

#[derive(Template)]
#[template(path = "links.html")]
struct LinksPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    query: &'a ListQuery,
    rows: Vec<LinkRow>,
    next: Option<String>,
    /// How far a search came that ended before the page was full.
    searched_to: Option<String>,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    form: LinkForm,
    fault: Option<String>,
    selection: &'a Selection,
    /// The service's own host, and the others that the account may use.
    own_host: &'a str,
    hosts: Vec<String>,
}

/// A refused change of several links; empty without a refusal.
#[derive(Default)]
struct Selection {
    codes: HashSet<String>,
    tag: String,
    fault: Option<String>,
}

impl LinksPage<'_> {
    /// What was done just now, in a sentence.
    fn done(&self) -> &'static str {
        match self.query.done.as_str() {
            "deleted" => "Deleted.",
            "restored" => "Restored.",
            "paused" => "Paused: these links no longer redirect.",
            "tagged" => "Tagged.",
            "untagged" => "Tags removed.",
            PARTLY => {
                "Only some of the selected links were changed. Check which links are left, and try again."
            }
            "none" => "No link was selected.",
            _ => "",
        }
    }
}

#[derive(Template)]
#[template(path = "new_link.html")]
struct NewLinkPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    form: LinkForm,
    /// What a code may be, for the person and for the browser.
    code_hint: String,
    code_rules: String,
    /// The service's own host, and the others that the account may use.
    own_host: &'a str,
    hosts: Vec<String>,
}

pub(super) async fn overview(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<ListQuery>,
) -> Result<Response, ApiError> {
    listed(&links, &site, &signed_in, &query, &Selection::default()).await
}

/// The same page, for the address that the form of a new link was sent to.
pub(super) async fn list() -> Response {
    see_other("/app")
}

async fn listed(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    query: &ListQuery,
    selection: &Selection,
) -> Result<Response, ApiError> {
    let asked = query
        .listing(links)
        .and_then(|listing| Ok((query.after(listing.order)?, listing)));
    let mut status = StatusCode::OK;
    let (mut rows, mut next, mut searched_to) = (Vec::new(), None, None);
    let (mut fault, mut as_of) = (None, None);
    match asked {
        Ok((after, listing)) => {
            let owner = signed_in.principal;
            let page = links.page(owner, &listing, after, PER_PAGE).await?;
            rows.extend(page.links().map(|link| LinkRow::of(link, site)));
            next = page.next.map(|next| query.path_to(listing.order, next));
            let is_short = rows.len() < PER_PAGE as usize && !query.is_plain();
            let end = page.next.filter(|_| is_short);
            searched_to = end.map(|end| searched_as_far_as(listing.order, end));
            as_of = page.as_of;
        }
        Err(error) => {
            status = error.status();
            fault = Some(error.detail().to_owned());
        }
    }
    if selection.fault.is_some() {
        status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let page = LinksPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        query,
        own_host: site.own_host(),
        hosts: links.hosts_of(signed_in.principal).await?,
        rows,
        next,
        searched_to,
        as_of: as_of.map(minute),
        form: LinkForm::default(),
        fault,
        selection,
    };
    own_page_as_of(status, &page, as_of)
}

pub(super) async fn new(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(given): QueryOf<Prefilled>,
) -> Result<Response, ApiError> {
    new_page(&links, &site, &signed_in, given.form(), None).await
}

/// The same, with what was entered in the form that has only the target.
pub(super) async fn new_with(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let fields = LinkForm::sent(&form);
    match checked {
        Ok(()) => new_page(&links, &site, &signed_in, fields, None).await,
        Err(error) => {
            let form = fields.refused(&error);
            new_page(&links, &site, &signed_in, form, Some(&error)).await
        }
    }
}

async fn new_page(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    form: LinkForm,
    refusal: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let owner = signed_in.owner();
    let least = links.shortest_code(owner.is_admin);
    let hosts = links.hosts_of(signed_in.principal).await?;
    let page = NewLinkPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        form,
        code_hint: format!("{least} to 64 characters of A–Z a–z 0–9 - _; empty: a random code"),
        code_rules: format!("minlength={least} maxlength=64 spellcheck=false autocapitalize=none"),
        own_host: site.own_host(),
        hosts,
    };
    match refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn make(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let fields = LinkForm::sent(&form);
    let made = async {
        checked?;
        let request = fields.request(&links.own_host)?;
        let made = links.shorten(signed_in.principal, &request, None, client.as_str());
        Ok::<_, ApiError>(made.await?)
    };
    match made.await {
        Ok(made) => Ok(see_other(&format!(
            "/app/links/{}?new=1",
            made.link.code.in_path()
        ))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let form = fields.refused(&error);
            new_page(&links, &site, &signed_in, form, Some(&error)).await
        }
    }
}

pub(super) async fn selected(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let place = ListQuery::at(form.get("place"));
    let acted = async {
        checked?;
        act_on_all(&links, signed_in.principal, client.as_str(), &form).await
    };
    match acted.await {
        Ok("deleted") if links.trash_days > 0 => {
            Ok(see_other(&place.path_after_deletion(form.all("code"))))
        }
        Ok(done) => Ok(see_other(&place.path(done))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let selection = Selection {
                codes: form.all("code").map(str::to_owned).collect(),
                tag: form.get("tag").to_owned(),
                fault: Some(error.detail().to_owned()),
            };
            listed(&links, &site, &signed_in, &place, &selection).await
        }
    }
}
