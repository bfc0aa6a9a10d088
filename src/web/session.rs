//! Who is signed in, by a cookie of its own kind: no route of the API takes it.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::{HeaderValue, REFERER, SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};

use super::acting::Acting;
use super::asked_by::AskedBy;
use super::browser_name::browser_name;
pub(super) use super::cookies::cookie;
use super::csrf;
use super::form::Form;
use super::language::{COOKIE as LANGUAGE_COOKIE, Language};
use super::opened_at::opened_elsewhere;
use super::own_path::{self, own_path};
use super::page::{Owner, Site, see_other};
use crate::accounts::{AccountError, Accounts, Arrival, SESSION_LIFETIME, random_text};
use crate::domain::{Principal, Timestamp, User};
use crate::http::{Admitted, ApiError};
use crate::store::SessionBy;

/// Where an account sets its second factor up.
pub(super) const TWO_FACTORS: &str = "/app/account/two-factors";

/// Seconds of a year.
const YEAR: u64 = 365 * 24 * 60 * 60;

/// The account that is signed in. Without one a page leads to the form for signing in, and back.
pub(super) struct SignedIn {
    /// The database's own number of the session.
    pub(super) id: i64,
    /// The account itself.
    pub(super) person: Principal,
    /// Whose links the pages show: those of the account, or of the group for which it acts.
    pub(super) principal: Principal,
    pub(super) user: User,
    /// For whom it acts.
    pub(super) acting: Acting,
    /// Whether the account administers the service.
    is_admin: bool,
    /// Whether the identity provider began the session.
    pub(super) is_of_provider: bool,
    /// Whether more than a password began it.
    pub(super) is_strong: bool,
    /// When the session began.
    pub(super) began_at: Timestamp,
    /// The tag of the language that the account chose; empty: the browser's.
    pub(super) chosen_language: String,
    language: Language,
    cookie: String,
    csrf: String,
    own_csrf: String,
    headers: HeaderMap,
}

impl SignedIn {
    /// What the frame of a page shows.
    pub(super) fn owner(&self) -> Owner<'_> {
        Owner {
            csrf: &self.csrf,
            own_csrf: &self.own_csrf,
            language: self.language,
            is_admin: self.is_admin,
            acting: &self.acting,
        }
    }

    /// The cookie of the session.
    pub(super) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The headers of the request.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Refuses a form that no page of this session sent.
    pub(super) fn check(&self, site: &Site, form: &Form) -> Result<(), ApiError> {
        check(
            site,
            &self.headers,
            &self.acting.form_key(&self.cookie),
            form,
        )
    }

    /// The same of a form that is about the session itself, for whomever it acts meanwhile.
    pub(super) fn check_own(&self, site: &Site, form: &Form) -> Result<(), ApiError> {
        check(site, &self.headers, &self.cookie, form)
    }

    /// As [`Self::check`], for pages that show again what was entered. The outer result refuses a form of another site, the inner
    /// one a form of an earlier session, which may be shown again.
    pub(super) fn check_session(
        &self,
        site: &Site,
        form: &Form,
    ) -> Result<Result<(), ApiError>, ApiError> {
        match self.check(site, form) {
            Err(_) if csrf::is_of_site(site, &self.headers) => {
                Ok(Err(ApiError::form_of_earlier_session()))
            }
            checked => checked.map(Ok),
        }
    }
}

/// Refuses a form that no page of the service's sent, in the browser with this cookie.
pub(super) fn check(
    site: &Site,
    headers: &HeaderMap,
    cookie: &str,
    form: &Form,
) -> Result<(), ApiError> {
    if csrf::is_of_site(site, headers) && csrf::has_token(cookie, form.get("csrf")) {
        return Ok(());
    }
    Err(match opened_elsewhere(site.base_url(), headers) {
        Some(address) => ApiError::form_opened_elsewhere(&address, site.base_url()),
        None => ApiError::foreign_form(),
    })
}

/// The account that is signed in, also if it needs a second factor that it has not set up yet: for the pages that lead there.
pub(super) struct PartlySignedIn(pub(super) SignedIn);

impl<S> FromRequestParts<S> for SignedIn
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
    Site: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let PartlySignedIn(signed_in) = PartlySignedIn::from_request_parts(parts, state).await?;
        let rule = Arc::<Accounts>::from_ref(state).two_factor_rule();
        if !signed_in.is_strong && rule.binds(signed_in.is_admin) {
            return Err(see_other(TWO_FACTORS));
        }
        Ok(signed_in)
    }
}

impl<S> FromRequestParts<S> for PartlySignedIn
where
    S: Sync,
    Arc<Accounts>: FromRef<S>,
    Site: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let site = Site::from_ref(state);
        let accounts = Arc::<Accounts>::from_ref(state);
        let cookie = cookie(&parts.headers, session_name(&site));
        let found = match &cookie {
            None => Ok(None),
            Some(cookie) => accounts.session(cookie).await,
        };
        let found = found.map_err(|error| ApiError::from(error).into_response())?;
        let (Some(session), Some(cookie)) = (found, cookie) else {
            let path = parts
                .uri
                .path_and_query()
                .map_or("/app", |path| path.as_str());
            // A form that is sent again after signing in would do nothing that its page shows: the page itself comes again.
            let path = if parts.method == Method::GET {
                sign_in_path(&own_path(path), false)
            } else {
                let is_sign_out = path.starts_with("/app/logout");
                let page = page_of_form(&parts.headers).filter(|_| !is_sign_out);
                sign_in_path(page.as_deref().unwrap_or("/app"), page.is_some())
            };
            return Err(see_other(&path));
        };
        if let Some(admitted) = parts.extensions.get::<Arc<Admitted>>() {
            let belongs = admitted.belongs_to(session.principal.user);
            belongs.map_err(IntoResponse::into_response)?;
        }
        let acting = Acting::of(&accounts, &session).await;
        let acting = acting.map_err(|error| ApiError::from(error).into_response())?;
        let permitted = acting.permits(&parts.method, parts.uri.path());
        permitted.map_err(IntoResponse::into_response)?;
        let signed_in = SignedIn {
            id: session.id,
            person: session.principal,
            principal: acting.principal(session.principal),
            user: session.user,
            is_admin: session.is_admin,
            is_of_provider: session.by.is_provider(),
            is_strong: session.by.is_strong(),
            began_at: session.created_at,
            language: Language::tagged(&session.language)
                .unwrap_or_else(|| Language::of_headers(&parts.headers)),
            chosen_language: session.language,
            csrf: csrf::token(&acting.form_key(&cookie)),
            own_csrf: csrf::token(&cookie),
            acting,
            cookie,
            headers: parts.headers.clone(),
        };
        if let Some(asked_by) = parts.extensions.get::<AskedBy>() {
            asked_by.set(signed_in.owner());
        }
        Ok(Self(signed_in))
    }
}

/// The owner's page that a form was sent from, as the browser names it.
fn page_of_form(headers: &HeaderMap) -> Option<String> {
    let address = headers.get(REFERER)?.to_str().ok()?;
    let address = url::Url::parse(address).ok()?;
    own_path::page(&address[url::Position::BeforePath..url::Position::AfterQuery])
}

/// The form for signing in, which leads to `next` afterwards, and says so if a form was not carried out.
fn sign_in_path(next: &str, is_form: bool) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if next != "/app" {
        query.append_pair("next", next);
    }
    if is_form {
        query.append_pair("ended", "yes");
    }
    let query = query.finish();
    let mark = if query.is_empty() { "" } else { "?" };
    format!("/app/login{mark}{query}")
}

/// Behind https the name ties the cookie to this host.
fn session_name(site: &Site) -> &'static str {
    if site.is_https() {
        "__Host-shunt"
    } else {
        "shunt_session"
    }
}

/// Whether a browser sent the cookie of a session, which may have ended.
pub(super) fn has_cookie(site: &Site, headers: &HeaderMap) -> bool {
    cookie(headers, session_name(site)).is_some_and(|cookie| !cookie.is_empty())
}

/// Has the pages before signing in, and the pages for visitors, in the language that the account chose; without a tag as the browser
/// wishes.
pub(super) fn remember_language(response: &mut Response, site: &Site, tag: &str) {
    let seconds = if tag.is_empty() { 0 } else { YEAR };
    set_cookie(response, site, LANGUAGE_COOKIE, tag, Some(seconds));
}

/// The cookie of forms before there is a session.
pub(super) fn form_name(site: &Site) -> &'static str {
    if site.is_https() {
        "__Host-shunt-form"
    } else {
        "shunt_form"
    }
}

/// The token of a form before there is a session, and the form's cookie for a browser without it.
pub(super) fn form_token(
    site: &Site,
    headers: &HeaderMap,
) -> Result<(String, Option<String>), ApiError> {
    if let Some(known) = cookie(headers, form_name(site)).filter(|cookie| cookie.len() == 48) {
        return Ok((csrf::token(&known), None));
    }
    let cookie = random_text().map_err(|error| ApiError::internal(&error.to_string()))?;
    Ok((csrf::token(&cookie), Some(cookie)))
}

/// Sets a cookie; `seconds` 0 removes it, and without them it ends with the browser.
pub(super) fn set_cookie(
    response: &mut Response,
    site: &Site,
    name: &str,
    value: &str,
    seconds: Option<u64>,
) {
    let secure = if site.is_https() { "; Secure" } else { "" };
    let age = seconds.map_or_else(String::new, |seconds| format!("; Max-Age={seconds}"));
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax{secure}{age}");
    // Names and values are of the service's own making.
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
}

/// Begins a session, and leads to `next`.
pub(super) async fn begin(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    principal: Principal,
    by: SessionBy<'_>,
    next: &str,
) -> Result<Response, ApiError> {
    let mut response = see_other(&own_path(next));
    begin_with(accounts, site, headers, principal, by, &mut response).await?;
    Ok(response)
}

/// The same of a person whom the identity provider has signed in.
pub(super) async fn begin_by_provider(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    arrival: &Arrival,
) -> Result<Response, ApiError> {
    let by = SessionBy::Provider(&arrival.session);
    begin(
        accounts,
        site,
        headers,
        arrival.principal,
        by,
        &arrival.next,
    )
    .await
}

/// Begins a session with any response.
pub(super) async fn begin_with(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    principal: Principal,
    by: SessionBy<'_>,
    response: &mut Response,
) -> Result<(), ApiError> {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent = browser_name(agent.unwrap_or_default());
    let cookie = accounts.begin_session(principal, &agent, by).await?;
    // The session has begun, so a failure to read it is no failure to sign in.
    if let Ok(Some(session)) = accounts.session(&cookie).await
        && (!session.language.is_empty() || self::cookie(headers, LANGUAGE_COOKIE).is_some())
    {
        remember_language(response, site, &session.language);
    }
    let seconds = Some(SESSION_LIFETIME.as_secs());
    set_cookie(response, site, session_name(site), &cookie, seconds);
    set_cookie(response, site, form_name(site), "", Some(0));
    Ok(())
}

/// Ends the previous session of the browser. If that fails, it stays in the list of the account's sessions.
pub(super) async fn end_former(
    accounts: &Accounts,
    site: &Site,
    headers: &HeaderMap,
    address: &str,
) {
    let Some(cookie) = cookie(headers, session_name(site)) else {
        return;
    };
    let ending = async {
        if let Some(former) = accounts.session(&cookie).await? {
            accounts
                .end_session(address, former.principal, former.id)
                .await?;
        }
        Ok::<_, AccountError>(())
    };
    if let Err(error) = ending.await {
        tracing::debug!(%error, "a former session goes on");
    }
}

/// Leads to the form, without the cookie. The browser forgets what scripts kept of the owner's searches and forms.
pub(super) fn ended(site: &Site) -> Response {
    ended_at(site, "/app/login")
}

/// The same, and leads to another page.
pub(super) fn ended_at(site: &Site, path: &str) -> Response {
    let mut response = signed_out(site, path);
    let storage = HeaderValue::from_static("\"storage\"");
    response.headers_mut().insert("clear-site-data", storage);
    response
}

/// The answer to a change that ended the session, or could not begin one: its account signs in again.
pub(super) fn signed_out(site: &Site, path: &str) -> Response {
    let mut response = see_other(path);
    forget(&mut response, site);
    response
}

/// Has the browser forget its session.
pub(super) fn forget(response: &mut Response, site: &Site) {
    set_cookie(response, site, session_name(site), "", Some(0));
    remember_language(response, site, "");
}
