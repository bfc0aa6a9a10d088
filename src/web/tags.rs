//! The tags of an owner: with the links and clicks of each, renamed, and taken off all links.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::form::Form;
use super::language::Language;
use super::link_list::Tag;
use super::page::{Frame, Site, own_page_as_of, refused_page, see_other};
use super::questions::{Question, asked};
use super::session::SignedIn;
use crate::clicks::counts::AsOf;
use crate::domain::SearchTag;
use crate::http::{ApiError, ClientAddress, QueryOf};
use crate::links::{LinkError, LinkService, TagListing};
use crate::store::TagTotals;

/// Tags on a page.
const PER_PAGE: u32 = 100;

const PATH: &str = "/app/tags";

#[derive(Template)]
#[template(path = "tags.html")]
struct TagsPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    said: &'static str,
    rows: Vec<TagRow>,
    is_first: bool,
    next: Option<String>,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    cursor: &'a str,
    fault: Option<Fault<'a>>,
}

/// A tag of the list.
struct TagRow {
    tag: Tag,
    /// Where it is asked whether to delete it.
    delete: String,
    links: String,
    clicks: String,
    /// What its parts are called.
    clicks_of: String,
    new_name_of: String,
    rename: String,
    delete_named: String,
}

/// A new name that was refused.
struct Fault<'a> {
    tag: &'a str,
    new: &'a str,
    text: String,
}

impl TagsPage<'_> {
    /// What is wrong with the new name of a tag.
    fn fault_of(&self, row: &TagRow) -> Option<&Fault<'_>> {
        self.fault
            .as_ref()
            .filter(|fault| fault.tag == row.tag.name)
    }

    /// The new name in the form of a tag: at first the old one.
    fn new_name<'b>(&'b self, row: &'b TagRow) -> &'b str {
        self.fault_of(row).map_or(&row.tag.name, |fault| fault.new)
    }
}

impl TagRow {
    /// A tag on the page that begins at a cursor.
    fn of(totals: &TagTotals, cursor: &str, language: Language) -> Self {
        let tag = ("tag", totals.tag.as_str());
        let clicks = language.count("clicks", totals.clicks);
        let query = [("tag", totals.tag.as_str()), ("cursor", cursor)];
        Self {
            tag: Tag::of(&totals.tag),
            delete: path("/delete", &query),
            links: language.count("tools_links", totals.links),
            clicks_of: language.with("tags_clicks_of", &[("clicks", &clicks), tag]),
            clicks,
            new_name_of: language.with("tags_new_name", &[tag]),
            rename: language.with("tags_rename_named", &[tag]),
            delete_named: language.with("tags_delete_named", &[tag]),
        }
    }
}

/// Which page of the list; unknown parameters are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct TagsQuery {
    /// The last tag of the page before.
    cursor: String,
    /// The tag that a question is about.
    tag: String,
    /// What was done just now.
    done: String,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<TagsQuery>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match query.done.as_str() {
        "renamed" => language.text("tags_renamed"),
        "deleted" => language.text("tags_deleted"),
        "partly" => language.text("tags_partly"),
        "none" => language.text("tags_none"),
        _ => "",
    };
    page(&links, &site, &signed_in, &query.cursor, said, None).await
}

async fn page(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    cursor: &str,
    said: &'static str,
    refused: Option<(&ApiError, Fault<'_>)>,
) -> Result<Response, ApiError> {
    let listing = TagListing {
        // What is no tag is not after any.
        after: SearchTag::parse(cursor).ok(),
        domain: None,
        limit: PER_PAGE,
    };
    let AsOf { value, as_of } = links.tags(signed_in.principal, &listing).await?;
    let (error, fault) = refused.unzip();
    let page = TagsPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        said,
        rows: (value.tags.iter())
            .map(|tag| TagRow::of(tag, cursor, signed_in.owner().language))
            .collect(),
        is_first: listing.after.is_none(),
        next: value.next.map(|last| path("", &[("cursor", &last)])),
        as_of: as_of.map(|moment| signed_in.owner().language.minute(moment)),
        cursor,
        fault,
    };
    match error {
        Some(error) => refused_page(error, &page),
        None => own_page_as_of(StatusCode::OK, &page, as_of),
    }
}

/// The address of a page of tags with these parameters, without those that are empty.
fn path(below: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query = Serializer::new(String::new()).extend_pairs(given).finish();
    format!("{PATH}{below}?{query}")
}

/// The page of the list, which says what was done.
fn back(cursor: &str, done: &str) -> String {
    path("", &[("cursor", cursor), ("done", done)])
}

/// The word for what was done, unless it failed.
fn done(changed: Result<bool, LinkError>, word: &'static str) -> Result<&'static str, ApiError> {
    match changed {
        Ok(true) => Ok(word),
        Ok(false) => Ok("none"),
        Err(LinkError::TagLeft(_)) => Ok("partly"),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn rename(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let (old, new, cursor) = (form.get("tag"), form.get("new"), form.get("cursor"));
    let renamed = async {
        checked?;
        let new = SearchTag::for_links(new);
        let new = new.map_err(|error| ApiError::invalid(error.to_string()))?;
        let Ok(old) = SearchTag::parse(old) else {
            return Ok("none");
        };
        let owner = signed_in.principal;
        let renamed = links.rename_tag(owner, &old, &new, client.as_str()).await;
        done(renamed.map(|renamed| renamed.is_some()), "renamed")
    };
    match renamed.await {
        Ok(done) => Ok(see_other(&back(cursor, done))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let text = error.detail().to_owned();
            let fault = Fault {
                tag: old,
                new,
                text,
            };
            let refused = Some((&error, fault));
            page(&links, &site, &signed_in, cursor, "", refused).await
        }
    }
}

/// Asks whether a tag is to be taken off all links.
pub(super) async fn ask(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<TagsQuery>,
) -> Result<Response, ApiError> {
    let found = match SearchTag::parse(&query.tag) {
        Ok(tag) => links.tag(signed_in.principal, &tag).await?,
        Err(_) => None,
    };
    let Some(AsOf { value, as_of }) = found else {
        return Ok(see_other(&back(&query.cursor, "none")));
    };
    let language = signed_in.owner().language;
    let counted = language.count("tools_links", value.links);
    let values = [("tag", value.tag.as_str()), ("links", &counted)];
    let title = match value.links {
        1 => language.with("tags_question_single", &values),
        _ => language.with("tags_question_all", &values),
    };
    let question = Question {
        title,
        text: language.text("tags_what").to_owned(),
        action: format!("{PATH}/delete"),
        fields: vec![("tag", value.tag), ("cursor", query.cursor.clone())],
        yes: language.text("tags_delete_yes"),
        no: language.text("tools_cancel"),
        back: back(&query.cursor, ""),
        as_of,
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let done = match SearchTag::parse(form.get("tag")) {
        Ok(tag) => {
            let deleted = links.delete_tag(signed_in.principal, &tag, client.as_str());
            done(deleted.await, "deleted")?
        }
        Err(_) => "none",
    };
    Ok(see_other(&back(form.get("cursor"), done)))
}
