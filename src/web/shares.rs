//! The shares of a link's statistics: made, shown once, and ended.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::form::Form;
use super::page::{Frame, Site, own_page, see_other};
use super::session::SignedIn;
use crate::domain::ShortCode;
use crate::http::{ApiError, PathCode};
use crate::links::{LinkService, MAX_SHARES, ShareMade};

#[derive(Template)]
#[template(path = "shares.html")]
struct SharesPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    /// The code as people read it.
    shown: String,
    /// The address of the share that was just made.
    made: Option<String>,
    /// Why none was made.
    fault: Option<String>,
    /// The number of the newest share: a form that is sent again makes no second one.
    newest: i64,
    rows: Vec<Row>,
}

/// A share.
struct Row {
    id: i64,
    made: String,
    /// What its button does.
    end: String,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    page(&links, &site, &signed_in, &code, Ok(None)).await
}

/// The page, with the address of the share that was just made, or the sentence why none was made.
async fn page(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    code: &ShortCode,
    made: Result<Option<String>, String>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let shares = links.stats_shares(signed_in.principal, code).await?;
    let shares = shares.ok_or_else(ApiError::url_not_found)?;
    let row = |share: &crate::store::StatsShare| {
        let made = language.minute(share.created_at);
        Row {
            id: share.id,
            end: language.with("share_end_of", &[("moment", &made)]),
            made,
        }
    };
    let status = match made {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::CONFLICT,
    };
    let (made, fault) = match made {
        Ok(made) => (made, None),
        Err(fault) => (None, Some(fault)),
    };
    let page = SharesPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        code: code.in_path().into_owned(),
        shown: site.shown_code(code),
        made,
        fault,
        newest: shares.first().map_or(0, |share| share.id),
        rows: shares.iter().map(row).collect(),
    };
    own_page(status, &page)
}

pub(super) async fn make(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let (owner, language) = (signed_in.principal, signed_in.owner().language);
    let known = links.stats_shares(owner, &code).await?;
    let known = known.ok_or_else(ApiError::url_not_found)?;
    let newest = known.first().map_or(0, |share| share.id);
    let made = if form.get("newest") == newest.to_string() {
        match links.share_stats(owner, &code).await? {
            ShareMade::Done(_, token) => Ok(Some(format!(
                "{}/app/shared/{}",
                site.base_url(),
                token.expose()
            ))),
            ShareMade::Full => Err(language.count("share_full", MAX_SHARES.unsigned_abs())),
            ShareMade::NoLink => return Err(ApiError::url_not_found()),
        }
    } else {
        Err(language.text("share_twice").to_owned())
    };
    page(&links, &site, &signed_in, &code, made).await
}

pub(super) async fn end(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    Path((_, id)): Path<(String, String)>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    // No share has the number 0. A share that has ended already has ended.
    let id = id.parse().unwrap_or_default();
    links
        .end_stats_share(signed_in.principal, &code, id)
        .await?;
    Ok(see_other(&format!("/app/links/{}/shares", code.in_path())))
}
