//! The hooks of an account, and the form of a new one.

use std::sync::Arc;

use askama::Template;
use axum::extract::State as StateOf;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::HookForm;
use super::{State, secret_page};
use crate::events::Hooks;
use crate::http::{ApiError, QueryOf};
use crate::store::Hook;
use crate::web::form::Form;
use crate::web::page::{Frame, Site, own_page, refused_page};
use crate::web::session::SignedIn;

#[derive(Template)]
#[template(path = "hooks/list.html")]
struct HooksPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    said: &'static str,
    rows: Vec<Row>,
    /// The number of the newest hook: a form that is sent again makes no second one.
    newest: i64,
    form: HookForm,
}

/// A hook of the list.
struct Row {
    id: i64,
    url: String,
    state: State,
}

/// What was done just now.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct Done {
    done: String,
}

pub(in crate::web) async fn show(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    QueryOf(query): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match query.done.as_str() {
        "deleted" => language.text("hooks_deleted"),
        _ => "",
    };
    let found = hooks.list(signed_in.principal).await?;
    let page = page(&site, &signed_in, &found, said, HookForm::new());
    own_page(StatusCode::OK, &page)
}

fn page<'a>(
    site: &'a Site,
    signed_in: &'a SignedIn,
    hooks: &[Hook],
    said: &'static str,
    form: HookForm,
) -> HooksPage<'a> {
    let language = signed_in.owner().language;
    let row = |hook: &Hook| Row {
        id: hook.id,
        url: hook.url.as_str().to_owned(),
        state: State::of(hook, language),
    };
    HooksPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        said,
        rows: hooks.iter().map(row).collect(),
        newest: newest(hooks),
        form,
    }
}

fn newest(hooks: &[Hook]) -> i64 {
    hooks.last().map_or(0, |hook| hook.id)
}

pub(in crate::web) async fn make(
    StateOf(hooks): StateOf<Arc<Hooks>>,
    StateOf(site): StateOf<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let (owner, sent) = (signed_in.principal, HookForm::sent(&form));
    let known = hooks.list(owner).await?;
    let made = async {
        checked?;
        let (url, filter) = sent.parse(hooks.targets)?;
        if form.get("newest") != newest(&known).to_string() {
            let text = signed_in.owner().language.text("hooks_twice");
            return Err(ApiError::bad_request(text));
        }
        Ok(hooks.create(owner, &url, &filter).await?)
    };
    match made.await {
        Ok((hook, secret)) => secret_page(&site, &signed_in, &hook, &secret, false),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let page = page(&site, &signed_in, &known, "", sent.refused(&error));
            refused_page(&error, &page)
        }
    }
}
