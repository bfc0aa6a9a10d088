//! New links of an owner: the form with all fields, and what comes of it.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::language::Language;
use super::link_form::LinkForm;
use super::link_list::MAX_TAGS;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::prefilled::Prefilled;
use super::session::SignedIn;
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::LinkService;

/// Why a person does not get a code that a link in the own bin has.
const IN_BIN: &str = "is the code of a link in your bin; restore that link, or end it there first";

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
    known_tags: Vec<String>,
}

/// What a code may be, in a person's words.
pub(super) fn code_hint(language: Language, least: usize) -> String {
    language.with("field_code_hint", &[("least", &least.to_string())])
}

/// The same for a browser.
pub(super) fn code_rules(least: usize) -> String {
    format!("minlength={least} maxlength=64 spellcheck=false autocapitalize=none")
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
            let form = fields.refused(&error, signed_in.owner().language);
            new_page(&links, &site, &signed_in, form, Some(&error)).await
        }
    }
}

pub(super) async fn new_page(
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
        code_hint: code_hint(owner.language, least),
        code_rules: code_rules(least),
        own_host: site.own_host(),
        hosts,
        known_tags: links.tag_names(signed_in.principal, MAX_TAGS).await?,
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
        // A program that takes the code means it; a person may not know.
        if let Some(code) = &request.custom_code
            && (links.is_in_bin(signed_in.principal, code.as_code())).await?
        {
            return Err(ApiError::invalid(format!("custom_code: {IN_BIN}")));
        }
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
            let form = fields.refused(&error, signed_in.owner().language);
            new_page(&links, &site, &signed_in, form, Some(&error)).await
        }
    }
}
