//! The list of an owner's links, new links, and what is done to several at once.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::try_join_all;

use super::form::Form;
use super::link_form::LinkForm;
use super::link_list::{ListQuery, PER_PAGE, Row};
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::session::SignedIn;
use crate::domain::{LinkEdit, Principal, ShortCode, Tags};
use crate::http::paths::parse_code;
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::{Expected, LinkError, LinkService};

/// Links that are changed at once: those of a page.
const MAX_SELECTED: usize = 100;

/// Of these, how many at the same time: each waits for its announcement.
pub(super) const AT_ONCE: usize = 10;

#[derive(Template)]
#[template(path = "links.html")]
struct LinksPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    query: &'a ListQuery,
    rows: Vec<Row>,
    next: Option<String>,
    form: LinkForm,
    fault: Option<String>,
    selection: &'a Selection,
}

/// What was wanted of several links and was refused; empty where nothing was.
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
            "ended" => "Ended: those links lead nowhere now.",
            "tagged" => "Tagged.",
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
        .listing()
        .and_then(|listing| Ok((query.after(listing.order)?, listing)));
    let mut status = StatusCode::OK;
    let (mut rows, mut next, mut fault) = (Vec::new(), None, None);
    match asked {
        Ok((after, listing)) => {
            let owner = signed_in.principal;
            let page = links.page(owner, &listing, after, PER_PAGE).await?;
            rows.extend(page.links().map(|link| Row::of(link, site)));
            next = page.next.map(|next| query.path_to(listing.order, next));
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
        rows,
        next,
        form: LinkForm::default(),
        fault,
        selection,
    };
    own_page(status, &page)
}

pub(super) async fn new(
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    new_page(&site, &signed_in, LinkForm::default(), None)
}

/// The same, with what was entered in the form that has only the target.
pub(super) async fn new_with(
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let fields = LinkForm::sent(&form);
    match checked {
        Ok(()) => new_page(&site, &signed_in, fields, None),
        Err(error) => new_page(&site, &signed_in, fields.refused(&error), Some(&error)),
    }
}

fn new_page(
    site: &Site,
    signed_in: &SignedIn,
    form: LinkForm,
    refusal: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let page = NewLinkPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        form,
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
        Ok(made) => Ok(see_other(&format!("/app/links/{}?new=1", made.link.code))),
        Err(error) if error.status().is_server_error() => Err(error),
        Err(error) => new_page(&site, &signed_in, fields.refused(&error), Some(&error)),
    }
}

/// What is done to the selected links.
enum Action {
    Delete,
    End,
    Tag(Tags),
}

pub(super) async fn selected(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let place = ListQuery::at(form.get("place"));
    let acted = async {
        checked?;
        act_on_all(&links, signed_in.principal, &form).await
    };
    match acted.await {
        Ok(done) => Ok(see_other(&place.path(done))),
        Err(error) if error.status().is_server_error() => Err(error),
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

/// Does to each selected link what the form says, and returns the word for it.
async fn act_on_all(
    links: &LinkService,
    owner: Principal,
    form: &Form,
) -> Result<&'static str, ApiError> {
    let codes: Vec<&str> = form.all("code").collect();
    check_number(codes.len())?;
    if codes.is_empty() {
        return Ok("none");
    }
    let (action, done) = match form.get("action") {
        "delete" => (Action::Delete, "deleted"),
        "end" => (Action::End, "ended"),
        "tag" => (Action::Tag(tags_to_add(form.get("tag"))?), "tagged"),
        _ => return Err(ApiError::invalid("action: must be delete, end or tag")),
    };
    // What is refused for one link is refused before another one is changed.
    let mut changes = Vec::new();
    for codes in codes.chunks(AT_ONCE) {
        let found = codes.iter().map(|code| change(links, owner, code, &action));
        changes.extend(try_join_all(found).await?.into_iter().flatten());
    }
    for changes in changes.chunks(AT_ONCE) {
        let made = changes
            .iter()
            .map(|(code, change)| make_change(links, owner, code, change));
        try_join_all(made).await?;
    }
    Ok(done)
}

/// Refuses a form with more links than a page has.
pub(super) fn check_number(links: usize) -> Result<(), ApiError> {
    if links > MAX_SELECTED {
        let detail = format!("code: must be at most {MAX_SELECTED} links at once");
        return Err(ApiError::invalid(detail));
    }
    Ok(())
}

fn tags_to_add(raw: &str) -> Result<Tags, ApiError> {
    let tags = Tags::parse_list(raw).map_err(|error| ApiError::invalid(error.to_string()))?;
    if tags.as_slice().is_empty() {
        return Err(ApiError::invalid("tags: must be at least one"));
    }
    Ok(tags)
}

enum Change {
    Delete,
    Edit(LinkEdit),
}

/// What becomes of a link; `None` where it is gone meanwhile, or is another account's.
async fn change(
    links: &LinkService,
    owner: Principal,
    code: &str,
    action: &Action,
) -> Result<Option<(ShortCode, Change)>, ApiError> {
    let Some(code) = parse_code(code) else {
        return Ok(None);
    };
    let change = match action {
        Action::Delete => Change::Delete,
        Action::End => Change::Edit(LinkEdit {
            is_active: Some(false),
            ..LinkEdit::default()
        }),
        Action::Tag(tags) => {
            let Some(shown) = links.show(owner, &code).await? else {
                return Ok(None);
            };
            let all = shown.link.properties.tags.as_slice().iter();
            let all = all.chain(tags.as_slice()).map(String::as_str);
            let tags = Tags::parse(all).map_err(|error| {
                ApiError::invalid(format!("{error} (link {code}; no link was changed)"))
            })?;
            Change::Edit(LinkEdit {
                tags: Some(tags),
                ..LinkEdit::default()
            })
        }
    };
    Ok(Some((code, change)))
}

/// A link that is gone meanwhile, or another account's, is passed over.
async fn make_change(
    links: &LinkService,
    owner: Principal,
    code: &ShortCode,
    change: &Change,
) -> Result<(), ApiError> {
    let made = match change {
        Change::Delete => links.delete(owner, code, &Expected::Any).await.map(|_| ()),
        Change::Edit(edit) => {
            let edited = links.edit(owner, code, edit, &Expected::Any).await;
            edited.map(|_| ())
        }
    };
    match made {
        Ok(()) | Err(LinkError::NotAsExpected) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
