//! The role and the password of an account: given, taken and set anew, each after a question.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::account_facts::facts;
use super::accounts::page;
use super::faults::Refused;
use super::question::{Question, asked};
use super::{Admin, ListQuery, Section};
use crate::abuse::{Abuse, AbuseError};
use crate::accounts::Accounts;
use crate::domain::{SeenUser, UserId};
use crate::http::{ApiError, Asking};
use crate::web::form::Form;
use crate::web::page::{Frame, Site, own_page, see_other};

/// A password that was just made: it is shown only once.
#[derive(Template)]
#[template(path = "admin/password.html")]
struct PasswordPage<'a> {
    frame: Frame<'a>,
    title: String,
    password: &'a str,
}

/// The account in a path.
pub(super) async fn account(abuse: &Abuse, id: &str) -> Result<SeenUser, ApiError> {
    let user = UserId(id.parse().unwrap_or_default());
    match abuse.account(user).await {
        Err(AbuseError::Unknown) => Err(ApiError::not_found()),
        found => Ok(found?),
    }
}

/// Asks whether an account is to get the role, or to lose it.
pub(in crate::web) async fn ask_role(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let user = account(&abuse, &id).await?;
    let email = [("email", user.email.as_str())];
    let is_own = user.id == admin.signed_in.person.user;
    let (title, text, yes, role) = if user.is_admin {
        let text = if is_own {
            language.text("admin_take_own_role_text")
        } else {
            language.text("admin_take_role_text")
        };
        let title = language.with("admin_take_role_title", &email);
        (title, text, language.text("admin_take_role"), "")
    } else {
        let title = language.with("admin_give_role_title", &email);
        let text = language.text("admin_give_role_text");
        (title, text, language.text("admin_give_role"), "admin")
    };
    let question = Question {
        title,
        facts: facts(&abuse, language, &user).await?,
        text: text.to_owned(),
        action: format!("{}/{}/role", Section::ACCOUNTS.path, user.id.0),
        fields: vec![("role", role.to_owned())],
        yes,
        back: Section::ACCOUNTS.path.to_owned(),
    };
    asked(&site, &admin, question)
}

/// Gives the role, or takes it.
pub(in crate::web) async fn set_role(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let user = account(&abuse, &id).await?.id;
    let done = if form.get("role") == "admin" {
        let set = abuse.set_role(&admin.administrator, user).await;
        set.map(|()| "granted")
    } else {
        match abuse.take_role(&admin.administrator, user).await {
            // Somebody else was quicker.
            Err(AbuseError::Unknown) => Ok("taken"),
            taken => taken.map(|()| "taken"),
        }
    };
    match done {
        Ok("taken") if user == admin.signed_in.person.user => Ok(see_other("/app")),
        Ok(done) => Ok(see_other(&format!(
            "{}?done={done}",
            Section::ACCOUNTS.path
        ))),
        Err(error) => refused(&abuse, &site, &admin, error).await,
    }
}

pub(super) async fn refused(
    abuse: &Abuse,
    site: &Site,
    admin: &Admin,
    error: AbuseError,
) -> Result<Response, ApiError> {
    let refused = Refused::of(error, admin.language())?;
    let (query, status) = (ListQuery::default(), refused.status);
    page(abuse, site, admin, &query, Some(refused.text), status).await
}

/// A question about another account: its title with the address, what it says, and how its path ends. One's own account has a page
/// for that.
pub(super) struct OfAnother<'a> {
    pub(super) title: &'a (dyn Fn(&str) -> String + Sync),
    pub(super) text: &'static str,
    pub(super) yes: &'static str,
    pub(super) end: &'static str,
}

impl OfAnother<'_> {
    pub(super) async fn ask(
        &self,
        abuse: &Abuse,
        site: &Site,
        admin: &Admin,
        id: &str,
    ) -> Result<Response, ApiError> {
        let language = admin.language();
        let user = account(abuse, id).await?;
        if user.id == admin.signed_in.person.user {
            return Ok(see_other("/app/account"));
        }
        let accounts = Section::ACCOUNTS.path;
        let question = Question {
            title: (self.title)(user.email.as_str()),
            facts: facts(abuse, language, &user).await?,
            text: self.text.to_owned(),
            action: format!("{accounts}/{}/{}", user.id.0, self.end),
            fields: Vec::new(),
            yes: self.yes,
            back: accounts.to_owned(),
        };
        asked(site, admin, question)
    }
}

/// Asks whether an account is to get a new password.
pub(in crate::web) async fn ask_password(
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let language = admin.language();
    let question = OfAnother {
        title: &|email| language.with("admin_password_title", &[("email", email)]),
        text: language.text("admin_password_text"),
        yes: language.text("admin_new_password"),
        end: "password",
    };
    question.ask(&abuse, &site, &admin, &id).await
}

/// Gives an account a new password, and shows it once.
pub(in crate::web) async fn reset_password(
    State(abuse): State<Arc<Abuse>>,
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    admin: Admin,
    Path(id): Path<String>,
    Asking(client): Asking,
    form: Form,
) -> Result<Response, ApiError> {
    admin.signed_in.check(&site, &form)?;
    let user = account(&abuse, &id).await?;
    if user.id == admin.signed_in.person.user {
        return Ok(see_other("/app/account"));
    }
    let new = accounts.new_password(&client).await?;
    let reset = abuse.reset_password(&admin.administrator, user.id, &new.hash, new.key);
    if let Err(error) = reset.await {
        return refused(&abuse, &site, &admin, error).await;
    }
    let language = admin.language();
    let page = PasswordPage {
        frame: Frame::own(&site, admin.signed_in.owner()),
        title: language.with("admin_password_done", &[("email", user.email.as_str())]),
        password: &new.text,
    };
    own_page(StatusCode::OK, &page)
}
