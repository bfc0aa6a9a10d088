//! One link: its count, its address and QR code, its fields, its deletion.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::Form;
use super::link_form::LinkForm;
use super::link_list::word;
use super::page::{Frame, Site, own_page, see_other};
use super::session::SignedIn;
use crate::http::{ApiError, PathCode, QueryOf};
use crate::links::{CountedLink, Expected, LinkService, Revision};

#[derive(Template)]
#[template(path = "one_link.html")]
struct LinkPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    short_url: String,
    clicks: u64,
    status: &'static str,
    created: String,
    revision: String,
    said: &'static str,
    form: LinkForm,
}

/// What was done just now.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    new: String,
    saved: String,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let shown = links.show(signed_in.principal, &code).await?;
    let shown = shown.ok_or_else(ApiError::url_not_found)?;
    let said = match (done.new.is_empty(), done.saved.is_empty()) {
        (false, _) => "Your link is ready.",
        (_, false) => "Saved.",
        _ => "",
    };
    let form = LinkForm::of(&shown.link);
    page(
        &links,
        &site,
        &signed_in,
        &shown,
        StatusCode::OK,
        said,
        form,
    )
}

fn page(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    shown: &CountedLink,
    status: StatusCode,
    said: &'static str,
    form: LinkForm,
) -> Result<Response, ApiError> {
    let link = &shown.link;
    let page = LinkPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        code: link.code.to_string(),
        short_url: site.short_url(&link.code),
        clicks: shown.clicks,
        status: word(shown.status(links.clock.now())),
        created: link.created_at.date(),
        revision: Revision::of(link).to_string(),
        said,
        form,
    };
    own_page(status, &page)
}

pub(super) async fn edit(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let owner = signed_in.principal;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let shown = links.show(owner, &code).await?;
    let shown = shown.ok_or_else(ApiError::url_not_found)?;
    let fields = LinkForm::sent(&form);
    let edited = async {
        let edit = fields.edit(&shown.link, &links.own_host)?;
        let expected = Expected::OneOf(vec![form.get("revision").to_owned()]);
        let edited = links.edit(owner, &code, &edit, &expected).await?;
        edited.ok_or_else(ApiError::url_not_found)
    };
    match edited.await {
        Ok(_) => Ok(see_other(&format!("/app/links/{code}?saved=1"))),
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => {
            let form = fields.refused(&error);
            page(&links, &site, &signed_in, &shown, error.status(), "", form)
        }
    }
}

pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if !links.delete(signed_in.principal, &code).await? {
        return Err(ApiError::url_not_found());
    }
    Ok(see_other("/app?done=deleted"))
}
