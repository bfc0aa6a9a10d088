//! What is done to all links that match a list, in steps of bounded work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::form::Form;
use super::language::Language;
use super::link_list::ListQuery;
use super::page::{Site, see_other};
use super::questions::{Question, asked, delete_selected};
use super::selected_links::{Action, restore};
use super::session::SignedIn;
use super::status_tabs::number_of;
use crate::domain::{LinkGroup, LinkId, LinkOrder, Principal, Timestamp};
use crate::http::paths::parse_placed_code;
use crate::http::{ApiError, QueryOf, cursor, parse_cursor};
use crate::links::{LinkService, Listing};
use crate::store::Position;

/// Links that are changed for one form at most, and read at once.
const MAX_LINKS: u32 = 1_000;
const STEP: u32 = 100;

/// Bytes of codes that fit into the address of a question.
const MAX_CODES: usize = 4_000;

/// The least time between two moments.
const TICK: Duration = Duration::from_micros(1);

/// A form takes no longer: a browser waits for it.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Does to all links that match what the form says, and returns to the list. The list then says how many links were changed, and has
/// a form for the rest. Once a link is changed, this does not fail.
pub(super) async fn act_on_every(
    links: &LinkService,
    signed_in: &SignedIn,
    place: &ListQuery,
    address: &str,
    form: &Form,
) -> Result<Response, ApiError> {
    let (owner, language) = (signed_in.principal, signed_in.owner().language);
    let (action, done) = Action::of(form.get("action"), form, signed_in)?;
    // All steps can be undone together.
    let since = match form.get("since") {
        "" => links.clock.now().micros().to_string(),
        since => since.to_owned(),
    };
    let listing = Listing {
        // Nothing that is done to a link changes its place in this order.
        order: LinkOrder::Newest,
        ..place.listing(links, language)?
    };
    let rest = Some(form.get("rest")).filter(|rest| !rest.is_empty());
    let mut after = rest
        .map(|rest| parse_cursor(listing.order, rest))
        .transpose()?;
    let (started, mut changed, mut looked_at) = (Instant::now(), 0, 0);
    let rest = loop {
        let page = links.page(owner, &listing, after, STEP).await;
        let acted = match page {
            Ok(page) => {
                let codes: Vec<_> = page
                    .links()
                    .map(|listed| listed.link.code.clone())
                    .collect();
                let acted = action.act_on(links, owner, address, &codes).await;
                acted.map(|acted| (acted, page.next))
            }
            Err(error) => Err(error.into()),
        };
        let (acted, next) = match acted {
            Ok(acted) => acted,
            Err(error) if changed == 0 => return Err(error),
            Err(_) => break after,
        };
        changed += acted.changed;
        looked_at += STEP;
        let is_over = looked_at >= MAX_LINKS || started.elapsed() > MAX_TIME;
        match next {
            _ if acted.failure.is_some() => break after,
            Some(next) if !is_over => after = Some(next),
            next => break next,
        }
    };
    let rest = rest.map(|rest| cursor(listing.order, rest));
    let with = form.get(if done == "moved" { "to" } else { "tag" });
    let mut path = path(place, done, changed, rest, with);
    if matches!(action, Action::Delete) && links.trash_days > 0 {
        let undo = Serializer::new(String::new())
            .append_pair("since", &since)
            .append_pair("until", &links.clock.now().micros().to_string())
            .finish();
        path = format!("{path}&{undo}");
    }
    Ok(see_other(&path))
}

/// The list again, which says what was done to how many links, and where the rest begins.
fn path(place: &ListQuery, done: &str, changed: u64, rest: Option<String>, with: &str) -> String {
    let changed = changed.to_string();
    let mut query = Serializer::new(String::new());
    query.append_pair("n", &changed);
    if let Some(rest) = rest {
        query.append_pair("rest", &rest);
        if !with.is_empty() {
            query.append_pair("with", with);
        }
    }
    // Pages of the list as it was may be gone.
    format!("{}&{}", place.begin().path(done), query.finish())
}

/// Which links a question is about.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// All links that match the list.
    every: String,
    /// Codes, with spaces between.
    codes: String,
    place: String,
}

/// Leads to the question whether the selected links, or all that match, are to be deleted. The question has an address of its own, so
/// that the way back from the list leads through it.
pub(super) async fn ask_to_delete(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let codes = form.all("code").collect::<Vec<_>>().join(" ");
    let chosen = if form.has("every") {
        ("every", "yes")
    } else if codes.len() <= MAX_CODES {
        ("codes", codes.as_str())
    } else {
        let place = ListQuery::at(form.get("place"));
        let codes: Vec<_> = form.all("code").filter_map(parse_placed_code).collect();
        return delete_selected(&links, &site, &signed_in, &place, &codes).await;
    };
    let query = Serializer::new(String::new())
        .extend_pairs([chosen, ("place", form.get("place"))])
        .finish();
    Ok(see_other(&format!("/app/links/selected/delete?{query}")))
}

/// The question itself.
pub(super) async fn show_question(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(asked): QueryOf<Asked>,
) -> Result<Response, ApiError> {
    let place = ListQuery::at(&asked.place);
    if !asked.every.is_empty() {
        return ask(&links, &site, &signed_in, &place).await;
    }
    let codes = asked.codes.split(' ').filter_map(parse_placed_code);
    let codes: Vec<_> = codes.collect();
    delete_selected(&links, &site, &signed_in, &place, &codes).await
}

/// Restores the links that went into the bin between the two moments of the form, in steps as they were deleted.
pub(super) async fn restore_every(
    links: &LinkService,
    signed_in: &SignedIn,
    form: &Form,
    address: &str,
) -> Result<Response, ApiError> {
    let moment = |name| {
        let micros = form.get(name).parse().ok();
        let moment = micros.and_then(Timestamp::from_micros);
        moment.ok_or_else(|| ApiError::invalid(format!("{name}: must be a moment of this page")))
    };
    let (since, until) = (moment("since")?, moment("until")?);
    let owner = signed_in.principal;
    let first = LinkId::parse(1).map(|first| Position::at(until.after(TICK), first));
    let (started, mut restored, mut looked_at) = (Instant::now(), 0_u64, 0);
    let mut after = first;
    let has_rest = loop {
        let page = links.trash(owner, after, STEP).await?;
        let codes: Vec<_> = (page.links())
            .filter(|trashed| trashed.deleted_at >= since)
            .map(|trashed| trashed.counted.link.code)
            .collect();
        let (number, failure) = restore(links, owner, &codes, address).await;
        restored += number;
        match failure {
            Some(error) if restored == 0 => return Err(error.into()),
            Some(_) => break true,
            None => {}
        }
        looked_at += STEP;
        let is_over = looked_at >= MAX_LINKS || started.elapsed() > MAX_TIME;
        match page.next {
            Some(next) if next.key >= since.micros() => {
                if is_over {
                    break true;
                }
                after = Some(next);
            }
            _ => break false,
        }
    };
    let place = ListQuery::at(form.get("place")).begin();
    let mut query = Serializer::new(String::new());
    query.append_pair("n", &restored.to_string());
    if has_rest {
        query.append_pair("since", form.get("since"));
        query.append_pair("until", form.get("until"));
    }
    let path = place.path("restored");
    Ok(see_other(&format!("{path}&{}", query.finish())))
}

async fn ask(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    place: &ListQuery,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let number = number(links, signed_in.principal, place, language).await?;
    let title = match number {
        Some(number) => language.count("list_delete_every", number),
        None => language.text("list_delete_every_unknown").to_owned(),
    };
    let text = match links.trash_days {
        0 => language.text("list_every_gone").to_owned(),
        days => language.count("list_every_in_bin", days.into()),
    };
    let question = Question {
        title,
        text,
        action: "/app/links/selected".to_owned(),
        fields: vec![
            ("action", "delete".to_owned()),
            ("every", "yes".to_owned()),
            ("place", place.place()),
        ],
        yes: language.text("list_delete"),
        no: language.text("list_cancel"),
        back: place.path(""),
        ..Question::default()
    };
    asked(site, signed_in, StatusCode::OK, question)
}

/// How many links match, if that is known without a search of all links.
async fn number(
    links: &LinkService,
    owner: Principal,
    place: &ListQuery,
    language: Language,
) -> Result<Option<u64>, ApiError> {
    let filter = place.listing(links, language)?.filter;
    if filter.text.is_some() {
        return Ok(None);
    }
    let group = LinkGroup {
        tag: filter.tag,
        domain: filter.domain,
    };
    let counts = links.status_counts(owner, &group).await?;
    let number = number_of(&counts, &place.status);
    Ok(number
        .filter(|number| number.is_whole)
        .map(|number| number.links))
}
