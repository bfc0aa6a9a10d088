//! A visitor reports a link: a form without a script, which the limits of `POST /report` bound.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use askama::Template;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use super::error_pages::PageWish;
use super::form::Form;
use super::language::Language;
use super::page::{Frame, Site, public_page, see_other};
use super::session;
use crate::domain::{EmailAddress, Reason, ShortCode};
use crate::http::{ApiError, ClientAddress, PathCode, QueryOf};
use crate::links::{LinkService, ReportLetter};
use crate::mail::{Mail, Mailer};

#[derive(Template)]
#[template(path = "report.html")]
struct ReportPage<'a> {
    frame: Frame<'a>,
    code: String,
    short_url: String,
    csrf: String,
    reason: &'a str,
    is_refused: bool,
}

#[derive(Template)]
#[template(path = "reported.html")]
struct ReportedPage<'a> {
    frame: Frame<'a>,
    short_url: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Sent {
    sent: String,
}

/// Between two mails of reports: the page of reports has all of them, and no stranger can flood the operator.
const BETWEEN_MAILS: Duration = Duration::from_mins(10);

/// Mails reports to the contact of the service, if that is an e-mail address; in English, as the operator's language is unknown.
#[must_use]
pub fn report_letter(site: Site, mailer: Mailer) -> Option<ReportLetter> {
    let contact = site.contact()?.strip_prefix("mailto:")?;
    let to = EmailAddress::parse(contact.to_owned()).ok()?;
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    Some(Box::new(move |code, reason| {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < BETWEEN_MAILS) {
            return;
        }
        *last = Some(Instant::now());
        let language = Language::ENGLISH;
        let (link, page) = (
            site.short_url(code),
            format!("{}/app/admin/reports", site.base_url()),
        );
        let values = [
            ("site", site.name()),
            ("link", &link),
            ("reason", reason.as_str()),
            ("url", &page),
        ];
        let text = ["mail_report_what", "mail_report_where"];
        let text = text.map(|name| language.with(name, &values));
        mailer.send(Mail {
            to: to.clone(),
            subject: language.with("mail_report_subject", &values),
            text: text.join("\r\n\r\n"),
        });
    }))
}

/// The form, or the thanks for a report.
pub(super) async fn show(
    State(site): State<Site>,
    PathCode(code): PathCode,
    headers: HeaderMap,
    QueryOf(query): QueryOf<Sent>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if query.sent.is_empty() {
        return shown(&site, &headers, &code, "", StatusCode::OK);
    }
    let page = ReportedPage {
        frame: Frame::public(&site, PageWish::language_of(&headers)),
        short_url: site.short_url(&code),
    };
    public_page(StatusCode::OK, &page)
}

fn shown(
    site: &Site,
    headers: &HeaderMap,
    code: &ShortCode,
    reason: &str,
    status: StatusCode,
) -> Result<Response, ApiError> {
    let (csrf, cookie) = session::form_token(site, headers)?;
    let page = ReportPage {
        frame: Frame::public(site, PageWish::language_of(headers)).with_form(headers),
        code: code.in_path().into_owned(),
        short_url: site.short_url(code),
        csrf,
        reason,
        is_refused: status != StatusCode::OK,
    };
    let mut response = public_page(status, &page)?;
    if let Some(cookie) = cookie {
        session::set_cookie(&mut response, site, session::form_name(site), &cookie, None);
    }
    Ok(response)
}

pub(super) async fn send(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    PathCode(code): PathCode,
    client: ClientAddress,
    headers: HeaderMap,
    form: Form,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let cookie = session::cookie(&headers, session::form_name(&site)).unwrap_or_default();
    session::check(&site, &headers, &cookie, &form)?;
    // Browsers end the lines of a form with both.
    let given = form.get("reason").replace("\r\n", "\n");
    let Ok(reason) = Reason::parse(&given) else {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return shown(&site, &headers, &code, &given, status);
    };
    if !links.report(&code, &reason, client.as_str()).await? {
        return Err(ApiError::url_not_found());
    }
    Ok(see_other(&format!(
        "/app/report/{}?sent=yes",
        code.in_path()
    )))
}
