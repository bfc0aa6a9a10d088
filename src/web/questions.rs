//! Confirmation pages for actions that cannot be undone: they need no script.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::future::try_join_all;

use super::browser_name::browser_shown;
use super::language::Language;
use super::link_list::ListQuery;
use super::page::{Frame, Site, own_page_as_of, see_other};
use super::selected_links::{AT_ONCE, check_number};
use super::session::SignedIn;
use crate::abuse::Abuse;
use crate::accounts::Accounts;
use crate::domain::{GroupRole, LinkGroup, RangeQuery, SeriesRange, ShortCode, Timestamp, Title};
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
    /// Groups that may get the links of an account, by number and name.
    pub(super) heirs: Vec<(i64, String)>,
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
        as_of: question
            .as_of
            .map(|moment| signed_in.owner().language.minute(moment)),
        question,
    };
    let as_of = page.question.as_of;
    own_page_as_of(status, &page, as_of)
}

/// What a deletion does to one link, or to several.
fn what_goes(language: Language, links: &LinkService, is_one: bool) -> String {
    let days = language.count("tools_days", links.trash_days.into());
    let days = [("days", days.as_str())];
    match (links.trash_days, is_one) {
        (0, true) => language.text("delete_one_now").to_owned(),
        (0, false) => language.text("delete_several_now").to_owned(),
        (_, true) => language.with("delete_one_bin", &days),
        (_, false) => language.with("delete_several_bin", &days),
    }
}

/// Whether so many links with so many clicks are to be deleted.
fn delete_title(language: Language, links: usize, clicks: u64) -> String {
    let links = language.count("tools_links", links as u64);
    let clicks = language.count("clicks", clicks);
    language.with("delete_question", &[("links", &links), ("clicks", &clicks)])
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
    let language = signed_in.owner().language;
    let question = Question {
        title: delete_title(language, 1, shown.clicks),
        text: what_goes(language, &links, true),
        listed: vec![listed(language, &site, &shown)],
        action: format!("/app/links/{}/delete", code.in_path()),
        yes: language.text("tools_delete"),
        no: language.text("tools_cancel"),
        back: format!("/app/links/{}", code.in_path()),
        as_of: shown.as_of,
        ..Question::default()
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

fn listed(language: Language, site: &Site, shown: &CountedLink) -> ListedLink {
    let properties = &shown.link.properties;
    let title = properties.title.as_ref().map(Title::as_str);
    ListedLink {
        name: title.map_or_else(|| site.shown_code(&shown.link.code), str::to_owned),
        target: properties.target.as_str().to_owned(),
        clicks: language.count("clicks", shown.clicks),
    }
}

/// Asks whether the links with these codes are to be deleted.
pub(super) async fn delete_selected(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    place: &ListQuery,
    codes: &[ShortCode],
) -> Result<Response, ApiError> {
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
    let language = signed_in.owner().language;
    let codes = found
        .iter()
        .map(|shown| ("code", shown.link.code.in_path().into_owned()));
    let question = Question {
        title: delete_title(language, found.len(), clicks),
        text: what_goes(language, links, found.len() == 1),
        listed: (found.iter())
            .map(|shown| listed(language, site, shown))
            .collect(),
        action: "/app/links/selected".to_owned(),
        fields: [("action", "delete".to_owned()), ("place", place.place())]
            .into_iter()
            .chain(codes)
            .collect(),
        yes: language.text("tools_delete"),
        no: language.text("tools_cancel"),
        back: place.path(""),
        as_of: found.iter().filter_map(|shown| shown.as_of).min(),
        ..Question::default()
    };
    asked(site, signed_in, StatusCode::OK, question)
}

pub(super) async fn end_key(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let keys = accounts.keys(signed_in.person).await?;
    let key = keys.iter().find(|key| key.id.to_string() == id);
    let key = key.ok_or_else(ApiError::key_not_found)?;
    let language = signed_in.owner().language;
    let text = match &key.last_used_on {
        Some(date) => language.with("revoke_key_used", &[("date", date)]),
        None => language.text("revoke_key_unused").to_owned(),
    };
    let question = Question {
        title: language.with("revoke_key_question", &[("name", key.name.as_str())]),
        text,
        action: format!("/app/account/keys/{}/delete", key.id),
        yes: language.text("revoke_key_yes"),
        ..of_account(language)
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

fn of_account(language: Language) -> Question {
    Question {
        no: language.text("tools_cancel"),
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
    let sessions = accounts.sessions(signed_in.person).await?;
    let session = sessions.iter().find(|session| session.id.to_string() == id);
    let session = session.ok_or_else(ApiError::not_found)?;
    let language = signed_in.owner().language;
    let text = if session.id == signed_in.id {
        language.text("end_session_this")
    } else {
        language.text("end_session_elsewhere")
    };
    let since = language.minute(session.created_at);
    let browser = browser_shown(language, session.agent.clone());
    let values = [("browser", &*browser), ("since", &since)];
    let question = Question {
        title: language.with("end_session_question", &values),
        text: text.to_owned(),
        action: format!("/app/account/sessions/{}/end", session.id),
        yes: language.text("sign_out"),
        ..of_account(language)
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn sign_out_everywhere(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    let sessions = accounts.sessions(signed_in.person).await?.len() as u64;
    let language = signed_in.owner().language;
    let sessions = language.count("tools_sessions", sessions);
    let question = Question {
        title: language.with("end_all_question", &[("sessions", &sessions)]),
        text: language.text("end_all_what").to_owned(),
        action: "/app/logout-everywhere".to_owned(),
        yes: language.text("end_all_yes"),
        ..of_account(language)
    };
    asked(&site, &signed_in, StatusCode::OK, question)
}

pub(super) async fn delete_account(
    State(accounts): State<Arc<Accounts>>,
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
) -> Result<Response, ApiError> {
    ask_for_account(&accounts, &links, &abuse, &site, &signed_in, None).await
}

/// The groups that may get the links of an account that is deleted.
fn heirs(signed_in: &SignedIn, has_password: bool) -> Vec<(i64, String)> {
    let groups = signed_in.acting.groups.iter();
    let groups = groups.filter(|group| has_password && group.role >= GroupRole::Editor);
    groups
        .map(|group| (group.id.0, group.name.as_str().to_owned()))
        .collect()
}

/// The question before an account is deleted, with what was wrong with the answer.
pub(super) async fn ask_for_account(
    accounts: &Accounts,
    links: &LinkService,
    abuse: &Abuse,
    site: &Site,
    signed_in: &SignedIn,
    refusal: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let owner = signed_in.person;
    let has_password = accounts.has_password(owner).await?;
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
    let language = signed_in.owner().language;
    let (count, as_of) = (language.count("tools_links", count), clicks.as_of);
    let clicks = language.count("clicks", clicks.series.sum().clicks);
    let values = [("links", count.as_str()), ("clicks", &clicks)];
    let question = Question {
        title: language.with("delete_account_question", &values),
        text: language.text("delete_account_what").to_owned(),
        action: "/app/account/delete".to_owned(),
        yes: language.text("delete_account_yes"),
        no: language.text("delete_account_no"),
        password: has_password.then(|| PasswordField {
            keep: "keep",
            fault: refusal.map(|error| error.detail().to_owned()),
        }),
        heirs: heirs(signed_in, has_password),
        as_of,
        ..of_account(language)
    };
    let question = if has_password || accounts.is_recent(signed_in.began_at) {
        question
    } else {
        // Signing in once more is what a password is elsewhere.
        Question {
            text: language.text("oidc_delete_again").to_owned(),
            action: "/app/logout".to_owned(),
            yes: language.text("sign_out"),
            ..question
        }
    };
    let status = refusal.map_or(StatusCode::OK, ApiError::status);
    asked(site, signed_in, status, question)
}
