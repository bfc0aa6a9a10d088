//! The form of a link that is there, on a page of its own; and its pause.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::link_form::LinkForm;
use super::link_list::MAX_TAGS;
use super::new_link::new_page;
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::session::SignedIn;
use crate::domain::{Link, LinkEdit, ShortCode};
use crate::http::{ApiError, ClientAddress, PathCode};
use crate::links::{Expected, LinkService, Revision};

#[derive(Template)]
#[template(path = "edit_link.html")]
struct EditPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    /// The code as people read it.
    shown: String,
    has_password: bool,
    revision: String,
    form: LinkForm,
    known_tags: Vec<String>,
}

impl<'a> EditPage<'a> {
    async fn new(
        links: &LinkService,
        link: &Link,
        form: LinkForm,
        site: &'a Site,
        signed_in: &'a SignedIn,
    ) -> Result<Self, ApiError> {
        Ok(Self {
            frame: Frame::own(site, signed_in.owner()),
            csrf: signed_in.owner().csrf,
            code: link.code.in_path().into_owned(),
            shown: site.shown_code(&link.code),
            has_password: link.properties.password.is_some(),
            revision: Revision::of(link).to_string(),
            form,
            known_tags: links.tag_names(signed_in.principal, MAX_TAGS).await?,
        })
    }
}

/// The link of the account that a path names.
pub(super) async fn link_of(
    links: &LinkService,
    signed_in: &SignedIn,
    code: Option<ShortCode>,
) -> Result<Link, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let found = links.show(signed_in.principal, &code).await?;
    Ok(found.ok_or_else(ApiError::url_not_found)?.link)
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
) -> Result<Response, ApiError> {
    let link = link_of(&links, &signed_in, code).await?;
    let form = LinkForm::of(&link);
    let page = EditPage::new(&links, &link, form, &site, &signed_in).await?;
    own_page(StatusCode::OK, &page)
}

pub(super) async fn save(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let owner = signed_in.principal;
    let fields = LinkForm::sent(&form);
    let link = match link_of(&links, &signed_in, code).await {
        Err(error) if error.status() == StatusCode::NOT_FOUND => {
            // The link was deleted meanwhile: what was entered may become a new one.
            let language = signed_in.owner().language;
            let form = fields.with_fault(language.text("field_deleted_meanwhile"));
            return new_page(&links, &site, &signed_in, form, Some(&error)).await;
        }
        found => found?,
    };
    let edited = async {
        checked?;
        let edit = fields.edit(&link, &links.own_host)?;
        let expected = Expected::OneOf(vec![form.get("revision").to_owned()]);
        let edited = links
            .edit(owner, &link.code, &edit, &expected, client.as_str())
            .await?;
        edited.ok_or_else(ApiError::url_not_found)
    };
    match edited.await {
        // The address may have been that of an alias, which is gone now.
        Ok(edited) => Ok(saved(&edited.link.code)),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let mut form = fields.refused(&error, signed_in.owner().language);
            let is_changed = error.status() == StatusCode::PRECONDITION_FAILED;
            if is_changed {
                form = form.beside(&link);
            }
            let page = EditPage::new(&links, &link, form, &site, &signed_in).await?;
            refused_page(&error, &page)
        }
    }
}

/// Pauses a link, or has it redirect again.
pub(super) async fn switch(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let edit = LinkEdit {
        is_active: match form.get("active") {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        },
        ..LinkEdit::default()
    };
    let owner = signed_in.principal;
    let edited = links.edit(owner, &code, &edit, &Expected::Any, client.as_str());
    let edited = edited.await?.ok_or_else(ApiError::url_not_found)?;
    Ok(saved(&edited.link.code))
}

fn saved(code: &ShortCode) -> Response {
    see_other(&format!("/app/links/{}?saved=1", code.in_path()))
}
