//! Hooks: the receivers of an account's events, or of a group's, with what was sent to them. Only who may change links sees them, as their
//! addresses may have a receiver's secret.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::language::Language;
use super::page::{Frame, Site, own_page};
use super::session::SignedIn;
use crate::domain::{EventType, HookSecret};
use crate::http::ApiError;
use crate::store::Hook;

mod deliveries;
mod form;
mod list;
mod one;

pub(super) use list::{make, show};
pub(super) use one::{ask_to_delete, change, delete, show as show_one};

/// Where the pages are.
pub(super) const PATH: &str = "/app/hooks";

/// The name of the text of a type of events.
fn type_text(of: EventType) -> &'static str {
    match of {
        EventType::Created => "hooks_type_created",
        EventType::Changed => "hooks_type_changed",
        EventType::Deleted => "hooks_type_deleted",
        EventType::Removed => "hooks_type_removed",
        EventType::Restored => "hooks_type_restored",
        EventType::Ended => "hooks_type_ended",
        EventType::Moved => "hooks_type_moved",
        EventType::Clicks => "hooks_type_clicks",
        EventType::HookOff => "hooks_type_off",
    }
}

/// How a hook is.
struct State {
    is_on: bool,
    /// Since when its receiver has taken nothing; empty if it works.
    failing: String,
    /// Why; may be empty.
    error: String,
    /// How many deliveries wait; empty without any.
    waiting: String,
}

impl State {
    fn of(hook: &Hook, language: Language) -> Self {
        let since = |since| language.with("hooks_failing", &[("moment", &language.minute(since))]);
        let error = hook.last_error.as_deref();
        Self {
            is_on: hook.is_active,
            failing: hook.failing_since.map(since).unwrap_or_default(),
            error: error.map_or_else(String::new, |error| language.fault(error)),
            waiting: match hook.waiting {
                0 => String::new(),
                waiting => language.count("hooks_waiting", waiting),
            },
        }
    }
}

#[derive(Template)]
#[template(path = "hooks/secret.html")]
struct SecretPage<'a> {
    frame: Frame<'a>,
    secret: String,
    url: &'a str,
    /// Whether a former secret signs, too.
    is_anew: bool,
    /// The page of the hook.
    back: String,
}

/// The page of a secret that was just made: it is shown only once.
fn secret_page(
    site: &Site,
    signed_in: &SignedIn,
    hook: &Hook,
    secret: &HookSecret,
    is_anew: bool,
) -> Result<Response, ApiError> {
    let page = SecretPage {
        frame: Frame::own(site, signed_in.owner()),
        secret: secret.text(),
        url: hook.url.as_str(),
        is_anew,
        back: format!("{PATH}/{}", hook.id),
    };
    own_page(StatusCode::OK, &page)
}
