//! Confirmation pages for actions that cannot be undone: they need no script.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::try_join_all;

use super::form::Form;
use super::link_list::ListQuery;
use super::page::{Frame, Site, minute, number_of, own_page_as_of, see_other};
use super::selected_links::{AT_ONCE, check_number};
use super::session::SignedIn;
use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::domain::{LinkGroup, RangeQuery, SeriesRange, Timestamp, Title};
use crate::http::paths::parse_placed_code;
use crate::http::{ApiError, PathCode};
use crate::links::{CountedLink, LinkService};

/// A question, and the form that is sent if the answer is yes.
#[derive(Default)]
pub(super) struct Question {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) listed: Vec<ListedLink>,
    pub(super) action: String,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) yes: &'static str,
    pub(super) no: &'static str,
    /// The address of the page that asked.
    pub(super) back: String,
    pub(super) password: Option<PasswordField>,
    /// The moment of the click counts, if they are not exact.
    pub(super) as_of: Option<Timestamp>,
}

/// A link that the answer yes deletes.
pub(super) struct ListedLink {
    name: String,
    target: String,
    clicks: String,
}

/// The password that goes with the answer. Enter in its field gives the answer no, which is the value `keep`.
pub(super) struct PasswordField {
    pub(super) keep: &'static str,
    pub(super) fault: Option<String>,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    as_of: Option<String>,
    question: Question,
}

/// The page of a question.
pub(super) fn asked(
    site: &Site,
    signed_in: &SignedIn,
    status: StatusCode,
    question: Question,
) -> Result<Response, ApiError> {
    let page = QuestionPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        as_of: question.as_of.map(minute),
        question,
    };
    let as_of = page.question.as_of;
    own_page_as_of(status, &page, as_of)
}

/// What a deletion does to one link, or to several.
fn what_goes(links: &LinkService, is_one: bool) -> String {
    let (subject, rest) = if is_one {
        ("The link stops working", "Nobody else will get its code.")
    } else {
        (
            "The links stop working",
            "Nobody else will get their codes.",
        )
    };
    let them = if is_one { "it" } else { "them" };
    let their = if is_one { "its" } else { "their" };
    match links.trash_days {
        0 => format!("{subject}, and {their} clicks are deleted. {rest}"),
        days => {
            let days = number_of(days.into(), "day");
            format!(
                "{subject}. For {days} you can restore {them} from the bin with {their} clicks. {rest}"
            )
        }
    }
}

pub(super) async fn delete_link(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let shown = links.show(signed_in.principal, &code).await?;
    let shown = shown.ok_or_else(ApiError::url_not_found)?;
    let question = Question {
        title: format!("Delete 1 link with {}?", number_of(shown.clicks, "click")),
        text: what_goes(&links, true),
        listed: vec![listed(&site, &shown)],
        action: format!("/app/links/{}/delete", code.in_path()),
        yes: "Delete",
        no: "Cancel",
        back: format!("/app/links/{}", code.in_path()),
        as_of: shown.as_of,
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

fn listed(site: &Site, shown: &CountedLink) -> ListedLink {
    let properties = &shown.link.properties;
    let title = properties.title.as_ref().map(Title::as_str);
    ListedLink {
        name: title.map_or_else(|| site.shown_code(&shown.link.code), str::to_owned),
        target: properties.target.as_str().to_owned(),
        clicks: number_of(shown.clicks, "click"),
    }
}

/// Asks whether the selected links are to be deleted.
pub(super) async fn delete_selected(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let place = ListQuery::at(form.get("place"));
    let codes: Vec<_> = form.all("code").filter_map(parse_placed_code).collect();
    check_number(codes.len())?;
    let mut found = Vec::new();
    for codes in codes.chunks(AT_ONCE) {
        let shown = codes
            .iter()
            .map(|code| links.show(signed_in.principal, code));
        found.extend(try_join_all(shown).await?.into_iter().flatten());
    }
    if found.is_empty() {
        return Ok(see_other(&place.path("none")));
    }
    let clicks = found.iter().map(|shown| shown.clicks).sum();
    let (count, clicks) = (
        number_of(found.len() as u64, "link"),
        number_of(clicks, "click"),
    );
    let codes = found
        .iter()
        .map(|shown| ("code", shown.link.code.in_path().into_owned()));
    let question = Question {
        title: format!("Delete {count} with {clicks}?"),
        text: what_goes(&links, found.len() == 1),
        listed: (found.iter()).map(|shown| listed(&site, shown)).collect(),
        action: "/app/links/selected".to_owned(),
        fields: [("action", "delete".to_owned()), ("place", place.place())]
            .into_iter()
            .chain(codes)
            .collect(),
        yes: "Delete",
        no: "Cancel",
        back: place.path(""),
        as_of: found.iter().filter_map(|shown| shown.as_of).min(),
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn end_key(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let keys = accounts.keys(signed_in.principal).await?;
    let key = keys.iter().find(|key| key.id.to_string() == id);
    let key = key.ok_or_else(ApiError::key_not_found)?;
    let used = match &key.last_used_on {
        Some(date) => format!("It was last used on {date}."),
        None => "It has never been used.".to_owned(),
    };
    let question = Question {
        title: format!("Revoke the key {}?", key.name.as_str()),
        text: format!("Programs that use it will be refused. {used}"),
        action: format!("/app/account/keys/{}/delete", key.id),
        yes: "Revoke the key",
        ..of_account()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

fn of_account() -> Question {
    Question {
        no: "Cancel",
        back: "/app/account".to_owned(),
        ..Question::default()
    }
}

pub(super) async fn end_session(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let sessions = accounts.sessions(signed_in.principal).await?;
    let session = sessions.iter().find(|session| session.id.to_string() == id);
    let session = session.ok_or_else(ApiError::not_found)?;
    let text = if session.id == signed_in.id {
        "This is your current session: you will be signed out here."
    } else {
        "That browser will be signed out, and text entered there but not yet sent will be lost."
    };
    let since = minute(session.created_at);
    let question = Question {
        title: format!("Sign out {} since {since}?", session.agent),
        text: text.to_owned(),
        action: format!("/app/account/sessions/{}/end", session.id),
        yes: "Sign out",
        ..of_account()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn sign_out_everywhere(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    let sessions = accounts.sessions(signed_in.principal).await?.len() as u64;
    let question = Question {
        title: format!("Sign out of {}?", number_of(sessions, "session")),
        text: "All sessions end, including this session, and all tokens of the API and the command line. API keys stay valid.".to_owned(),
        action: "/app/logout-everywhere".to_owned(),
        yes: "Sign out everywhere",
        ..of_account()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn delete_account(
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    ask_for_account(&links, &abuse, &site, &signed_in, None).await
}

/// The question before an account is deleted, with what was wrong with the answer.
pub(super) async fn ask_for_account(
    links: &LinkService,
    abuse: &Abuse,
    site: &Site,
    signed_in: &SignedIn,
    refusal: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let owner = signed_in.principal;
    let count = abuse.account(owner.user).await?.links;
    // A sum by month has all clicks in few points.
    let always = RangeQuery {
        interval: Some("month"),
        from: Some("2000-01-01"),
        ..RangeQuery::default()
    };
    let always = SeriesRange::parse(always, links.clock.now())
        .map_err(|error| ApiError::internal(&error.to_string()))?;
    let clicks = links
        .compared_series_of_owner(owner, &LinkGroup::ALL, &always)
        .await?;
    let (count, as_of) = (number_of(count, "link"), clicks.as_of);
    let clicks = number_of(clicks.series.sum().clicks, "click");
    let question = Question {
        title: format!("Delete the account with {count} and {clicks}?"),
        text: "The account and its links, clicks and keys are deleted at once. This cannot be undone. Nobody else will get the codes.".to_owned(),
        action: "/app/account/delete".to_owned(),
        yes: "Delete the account",
        no: "Keep the account",
        password: Some(PasswordField {
            keep: "keep",
            fault: refusal.map(|error| error.detail().to_owned()),
        }),
        as_of,
        ..of_account()
    };
    let status = refusal.map_or(StatusCode::OK, ApiError::status);
    asked(site, signed_in, status, question)
}
