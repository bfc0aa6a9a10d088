//! The list of an owner's links.

use std::collections::HashSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::every_link::act_on_every;
use super::form::Form;
use super::language::Language;
use super::link_form::LinkForm;
use super::link_list::{LinkRow, ListQuery, MAX_TAGS, PER_PAGE, searched_as_far_as};
use super::new_link::{code_hint, code_rules};
use super::page::{Frame, Site, own_page_as_of, refused_page, see_other};
use super::selected_links::{PARTLY, act_on_all};
use super::session::SignedIn;
use super::sparkline::DAYS;
use super::status_tabs::{StatusTab, number_of, shown, tabs};
use crate::domain::LinkGroup;
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::{LinkService, Listing, Page};
use crate::store::StatusCounts;

#[derive(Template)]
#[template(path = "links.html")]
struct LinksPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    query: &'a ListQuery,
    tabs: Vec<StatusTab>,
    /// The account's tags.
    tags: Vec<String>,
    rows: Vec<LinkRow>,
    /// Which links of how many are shown.
    range: String,
    previous: Option<String>,
    next: Option<String>,
    /// How far a search came that ended before the page was full.
    searched_to: Option<String>,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    form: LinkForm,
    fault: Option<String>,
    selection: &'a Selection,
    /// What a code may be, for the person and for the browser.
    code_hint: String,
    code_rules: String,
    /// The service's own host, and the others that the account may use.
    own_host: &'a str,
    hosts: Vec<String>,
}

/// A refused change of several links; empty without a refusal.
#[derive(Default)]
struct Selection {
    codes: HashSet<String>,
    is_every: bool,
    tag: String,
    fault: Option<String>,
}

impl Selection {
    fn of(form: &Form, error: &ApiError) -> Self {
        Self {
            codes: form.all("code").map(str::to_owned).collect(),
            is_every: form.has("every"),
            tag: form.get("tag").to_owned(),
            fault: Some(error.detail().to_owned()),
        }
    }
}

impl LinksPage<'_> {
    /// What was done just now, in a sentence.
    fn done(&self) -> String {
        let language = self.frame.language;
        let done = match self.query.done.as_str() {
            "deleted" => language.text("list_done_deleted"),
            "restored" => language.text("list_done_restored"),
            "paused" => language.text("list_done_paused"),
            "resumed" => language.text("list_done_resumed"),
            "tagged" => language.text("list_done_tagged"),
            "moved" => language.text("groups_moved"),
            "untagged" => language.text("list_done_untagged"),
            PARTLY => language.text("list_done_partly"),
            "none" => language.text("list_done_none"),
            _ => return String::new(),
        };
        match self.query.n.parse() {
            Ok(n) => format!("{done} {}", language.count("list_links_changed", n)),
            Err(_) => done.to_owned(),
        }
    }

    /// Whether the account may have more tags than are offered.
    fn has_more_tags(&self) -> bool {
        self.tags.len() >= MAX_TAGS as usize
    }

    /// The word for what is done to the rest of the links that match.
    fn rest_action(&self) -> &'static str {
        match self.query.done.as_str() {
            "deleted" => "delete",
            "paused" => "pause",
            "resumed" => "resume",
            "tagged" => "tag",
            "moved" => "move",
            "untagged" => "untag",
            _ => "",
        }
    }

    /// Whether only some of the links that match were changed.
    fn has_rest(&self) -> bool {
        !self.query.rest.is_empty() && !self.rest_action().is_empty()
    }
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

/// A page of the list, and the query that it belongs to.
struct Found {
    query: ListQuery,
    listing: Listing,
    page: Page,
    /// Whether links come before it, and after it.
    has_previous: bool,
    has_next: bool,
}

/// The page that a query asks for. One that is asked for by its end, and is not full, is the first page.
async fn found(
    links: &LinkService,
    signed_in: &SignedIn,
    query: &ListQuery,
) -> Result<Found, ApiError> {
    let owner = signed_in.principal;
    let listing = query.listing(links, signed_in.owner().language)?;
    let after = query.after(listing.order)?;
    if query.is_back() {
        let back = Listing {
            order: listing.order.reversed(),
            ..listing.clone()
        };
        let page = links.page_with_days(owner, &back, after, PER_PAGE, DAYS);
        let page = page.await?.reversed();
        if page.next.is_some() {
            return Ok(Found {
                query: query.clone(),
                listing,
                has_previous: true,
                has_next: page.ends.is_some(),
                page,
            });
        }
    }
    let (query, after) = if query.is_back() {
        (query.begin(), None)
    } else {
        (query.clone(), after)
    };
    let page = links
        .page_with_days(owner, &listing, after, PER_PAGE, DAYS)
        .await?;
    Ok(Found {
        has_previous: after.is_some() && page.ends.is_some(),
        has_next: page.next.is_some(),
        query,
        listing,
        page,
    })
}

/// How many links of the list's group have which status; nothing where a text is searched for.
async fn counted(
    links: &LinkService,
    signed_in: &SignedIn,
    listing: &Listing,
) -> Result<Option<StatusCounts>, ApiError> {
    if listing.filter.text.is_some() {
        return Ok(None);
    }
    let group = LinkGroup {
        tag: listing.filter.tag.clone(),
        domain: listing.filter.domain,
    };
    Ok(Some(
        links.status_counts(signed_in.principal, &group).await?,
    ))
}

async fn listed(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    query: &ListQuery,
    selection: &Selection,
) -> Result<Response, ApiError> {
    let owner = signed_in.owner();
    let language = owner.language;
    let shortest = links.shortest_code(owner.is_admin);
    let tags = links.tag_names(signed_in.principal, MAX_TAGS).await?;
    let mut page = LinksPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        query,
        tabs: Vec::new(),
        tags,
        own_host: site.own_host(),
        hosts: links.hosts_of(signed_in.principal).await?,
        rows: Vec::new(),
        range: String::new(),
        previous: None,
        next: None,
        searched_to: None,
        as_of: None,
        form: LinkForm::default(),
        fault: None,
        code_hint: code_hint(language, shortest),
        code_rules: code_rules(shortest),
        selection,
    };
    let mut status = StatusCode::OK;
    if selection.fault.is_some() {
        status = StatusCode::UNPROCESSABLE_ENTITY;
    }
    let found = match found(links, signed_in, query).await {
        Ok(found) => found,
        Err(error) if error.is_failure() => return Err(error),
        Err(error) => {
            page.tabs = tabs(language, query, None);
            page.fault = Some(error.detail().to_owned());
            return refused_page(&error, &page);
        }
    };
    let counts = counted(links, signed_in, &found.listing).await?;
    let (query, order, now) = (&found.query, found.listing.order, links.clock.now());
    page.query = query;
    page.tabs = tabs(language, query, counts.as_ref());
    let rows = found.page.links();
    page.rows = rows
        .map(|link| LinkRow::of(language, link, site, now))
        .collect();
    let (from, count) = (query.from(), page.rows.len() as u64);
    (page.previous, page.next) = neighbours(&found, from + count);
    let is_short = count < u64::from(PER_PAGE) && !query.is_plain() && !query.is_back();
    let end = found.page.next.filter(|_| is_short);
    page.searched_to = end.map(|end| searched_as_far_as(language, order, end));
    let all = match counts.and_then(|counts| number_of(&counts, &query.status)) {
        Some(number) => Some(shown(language, number)),
        None if !found.has_next => Some(language.number((from + count).saturating_sub(1))),
        None => None,
    };
    page.range = range(language, from, count, all.as_deref());
    let as_of = found.page.as_of;
    page.as_of = as_of.map(|moment| signed_in.owner().language.minute(moment));
    own_page_as_of(status, &page, as_of)
}

/// The addresses of the pages before and after; the next one begins with the link of this place.
fn neighbours(found: &Found, from: u64) -> (Option<String>, Option<String>) {
    let (query, order, page) = (&found.query, found.listing.order, &found.page);
    let ends = page.ends.unzip();
    let previous = ends.0.filter(|_| found.has_previous);
    // A step of a search may end after the last link that it found.
    let end = page.next.filter(|_| !query.is_back()).or(ends.1);
    let next = end.filter(|_| found.has_next);
    (
        previous.map(|first| query.path_before(order, first)),
        next.map(|end| query.path_after(order, end, from)),
    )
}

/// Which links of how many are shown, from this place on.
fn range(language: Language, from: u64, count: u64, all: Option<&str>) -> String {
    if count == 0 {
        return String::new();
    }
    let (first, end) = (language.number(from), language.number(from + count - 1));
    match all {
        Some(all) => language.with(
            "list_range_of",
            &[("first", &first), ("last", &end), ("all", all)],
        ),
        None => language.with("list_range", &[("first", &first), ("last", &end)]),
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
    if checked.is_ok() && form.has("every") {
        let acted = act_on_every(&links, &signed_in, &place, client.as_str(), &form).await;
        return match acted {
            Err(error) if !error.is_failure() => {
                let selection = Selection::of(&form, &error);
                listed(&links, &site, &signed_in, &place, &selection).await
            }
            acted => acted,
        };
    }
    let acted = async {
        checked?;
        act_on_all(&links, &signed_in, client.as_str(), &form).await
    };
    match acted.await {
        Ok("deleted") if links.trash_days > 0 => {
            Ok(see_other(&place.path_after_deletion(form.all("code"))))
        }
        Ok(done) => Ok(see_other(&place.path(done))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let selection = Selection::of(&form, &error);
            listed(&links, &site, &signed_in, &place, &selection).await
        }
    }
}
