//! One hook: changed, switched off and on, with another secret, ended; its deliveries, and what is sent again.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State as StateOf};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::deliveries::Row;
use super::form::HookForm;
use super::{PATH, State, secret_page};
use crate::events::{ChangedHook, Hooks};
use crate::http::{ApiError, QueryOf};
use crate::links::LinkService;
use crate::store::HookEdit;
use crate::web::form::{Fault, Form};
use crate::web::page::{Frame, Site, own_page, refused_page, see_other};
use crate::web::questions::{Question, asked};
use crate::web::session::SignedIn;

/// Deliveries of a page.
const PER_PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "hooks/one.html")]
struct HookPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    said: &'static str,
    path: String,
    url: String,
    made: String,
    state: State,
    form: HookForm,
    replay: Replay,
    rows: Vec<Row>,
    is_first: bool,
    /// The page of older deliveries.
    older: Option<String>,
}

/// The form of events that are sent again.
#[derive(Default)]
struct Replay {
    after: String,
    fault: Option<Fault>,
}

impl Replay {
    fn fault(&self) -> Option<&str> {
        self.fault.as_ref()?.at("after")
    }
}

/// What the page shows beside the hook as it is.
#[derive(Default)]
struct Shown<'a> {
    before: Option<i64>,
    said: &'static str,
    form: Option<HookForm>,
    replay: Replay,
    refusal: Option<&'a ApiError>,
}

/// Which deliveries, and what was done just now; unknown parameters are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct HookQuery {
    before: String,
    done: String,
}

/// The services of the page.
type Services<'a> = (&'a Hooks, &'a LinkService);

/// No hook has the number 0.
fn number(id: &str) -> i64 {
    id.parse().unwrap_or_default()
}

pub(in crate::web) async fn show(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(links): StateOf<Arc<LinkService>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    QueryOf(query): QueryOf<HookQuery>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let shown = Shown {
        before: query.before.parse().ok(),
        said: match query.done.as_str() {
            "saved" => language.text("hooks_saved"),
            "on" => language.text("hooks_done_on"),
            "off" => language.text("hooks_done_off"),
            "replayed" => language.text("hooks_replayed"),
            _ => "",
        },
        ..Shown::default()
    };
    page((&hooks, &links), &site, &signed_in, number(&id), shown).await
}

async fn page(
    (hooks, links): Services<'_>,
    site: &Site,
    signed_in: &SignedIn,
    id: i64,
    shown: Shown<'_>,
) -> Result<Response, ApiError> {
    let (owner, language) = (signed_in.principal, signed_in.owner().language);
    let hook = hooks.show(owner, id).await?;
    let hook = hook.ok_or_else(ApiError::hook_not_found)?;
    // One more shows whether there are older ones.
    let found = hooks.deliveries(owner, id, shown.before, PER_PAGE + 1);
    let mut found = found.await?.ok_or_else(ApiError::hook_not_found)?;
    let has_older = found.len() > PER_PAGE as usize;
    found.truncate(PER_PAGE as usize);
    let path = format!("{PATH}/{id}");
    let last = found.last().filter(|_| has_older);
    let older = last.map(|last| format!("{path}?before={}", last.id));
    let now = links.clock.now();
    let row = |delivery| Row::of(delivery, hook.is_active, now, language);
    let page = HookPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        said: shown.said,
        path,
        url: hook.url.as_str().to_owned(),
        made: language.minute(hook.created_at),
        state: State::of(&hook, language),
        form: shown.form.unwrap_or_else(|| HookForm::of(&hook)),
        replay: shown.replay,
        rows: found.into_iter().map(row).collect(),
        is_first: shown.before.is_none(),
        older,
    };
    match shown.refusal {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(in crate::web) async fn change(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(links): StateOf<Arc<LinkService>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let id = number(&id);
    let done = match form.get("action") {
        "replay" => replay(&hooks, &signed_in, id, &form, checked).await,
        action => edit(&hooks, &signed_in, id, action, &form, checked).await,
    };
    let error = match done {
        Ok(Done::Secret(changed)) => {
            let secret = changed.secret.as_ref();
            let secret = secret.ok_or_else(ApiError::hook_not_found)?;
            return secret_page(&site, &signed_in, &changed.hook, secret, true);
        }
        Ok(Done::Word(word)) => return Ok(see_other(&format!("{PATH}/{id}?done={word}"))),
        Err(error) if error.is_failure() => return Err(error),
        Err(error) => error,
    };
    let mut shown = Shown {
        refusal: Some(&error),
        ..Shown::default()
    };
    if form.get("action") == "replay" {
        shown.replay = Replay {
            after: form.get("after").to_owned(),
            fault: Some(Fault::of(&error, &["after"]).moved("", "after")),
        };
    } else if form.get("action") == "save" {
        shown.form = Some(HookForm::sent(&form).refused(&error));
    } else {
        return Err(error);
    }
    page((&hooks, &links), &site, &signed_in, id, shown).await
}

/// What was done with a hook.
enum Done {
    /// The word for the page that comes next.
    Word(&'static str),
    /// The hook has a new secret.
    Secret(Box<ChangedHook>),
}

async fn edit(
    hooks: &Hooks,
    signed_in: &SignedIn,
    id: i64,
    action: &str,
    form: &Form,
    checked: Result<(), ApiError>,
) -> Result<Done, ApiError> {
    checked?;
    let mut edit = HookEdit::default();
    let word = match action {
        "on" => {
            edit.is_active = Some(true);
            "on"
        }
        "off" => {
            edit.is_active = Some(false);
            "off"
        }
        "secret" => "secret",
        "save" => {
            let (url, filter) = HookForm::sent(form).parse(hooks.targets)?;
            edit.url = Some(url);
            edit.types = Some(filter.types);
            edit.tags = Some(filter.tags);
            "saved"
        }
        _ => return Err(ApiError::invalid("action: is unknown")),
    };
    let changed = hooks.edit(signed_in.principal, id, edit, word == "secret");
    let changed = changed.await?.ok_or_else(ApiError::hook_not_found)?;
    Ok(match word {
        "secret" => Done::Secret(Box::new(changed)),
        word => Done::Word(word),
    })
}

async fn replay(
    hooks: &Hooks,
    signed_in: &SignedIn,
    id: i64,
    form: &Form,
    checked: Result<(), ApiError>,
) -> Result<Done, ApiError> {
    checked?;
    let after = form.get("after").trim().parse();
    let after = after.map_err(|error| ApiError::invalid(format!("after: {error}")))?;
    if hooks.replay(signed_in.principal, id, after).await? {
        Ok(Done::Word("replayed"))
    } else {
        Err(ApiError::hook_not_found())
    }
}

/// Asks whether a hook is to be deleted.
pub(in crate::web) async fn ask_to_delete(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let hook = hooks.show(signed_in.principal, number(&id)).await?;
    let hook = hook.ok_or_else(ApiError::hook_not_found)?;
    let language = signed_in.owner().language;
    let question = Question {
        title: language.with("hooks_question", &[("url", hook.url.as_str())]),
        text: language.text("hooks_question_what").to_owned(),
        action: format!("{PATH}/{}/delete", hook.id),
        yes: language.text("hooks_delete"),
        no: language.text("tools_cancel"),
        back: format!("{PATH}/{}", hook.id),
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(in crate::web) async fn delete(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    if !hooks.delete(signed_in.principal, number(&id)).await? {
        return Err(ApiError::hook_not_found());
    }
    Ok(see_other(&format!("{PATH}?done=deleted")))
}
