//! The second factor of an account: set up, recovery codes, removed.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::session::{PartlySignedIn, SignedIn, TWO_FACTORS};
use super::session_anew::begin_anew;
use crate::accounts::{Accounts, Client, SetUp};
use crate::domain::{OneTimePassword, Password, RecoveryCode};
use crate::http::{ApiError, Asking, QueryOf};
use crate::qr::{Colors, ErrorCorrection, Image, QrCode};
use crate::store::SessionBy;

/// Pixels of the QR code, and the light modules around it.
const SIZE: u32 = 264;
const MARGIN: u32 = 4;

/// The page of an account without a second factor.
#[derive(Template)]
#[template(path = "add_factor.html")]
struct AddPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    said: &'static str,
    /// Whether the account can do nothing else before.
    is_needed: bool,
    /// An image in SVG, which this service has drawn.
    image: String,
    uri: String,
    /// In groups of four letters.
    secret: String,
    sealed: &'a str,
    has_password: bool,
    has_passkeys: bool,
    fault: Option<Fault>,
}

/// The page of an account with a second factor.
#[derive(Template)]
#[template(path = "two_factors.html")]
struct FactorsPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    since: String,
    left: String,
    /// Whether the account may do without it.
    is_free: bool,
    fault: Option<Fault>,
}

impl AddPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

impl FactorsPage<'_> {
    fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }
}

/// Recovery codes, shown once.
#[derive(Template)]
#[template(path = "recovery_codes.html")]
struct CodesPage<'a> {
    frame: Frame<'a>,
    codes: Vec<String>,
    /// All of them, a line each.
    text: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    PartlySignedIn(signed_in): PartlySignedIn,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let said = match done.done.as_str() {
        "late" => language.text("factor_late_set_up"),
        _ => "",
    };
    page(&accounts, &site, &signed_in, said, None, None).await
}

/// The page, maybe with what was wrong with its form, and the app that the form is about.
async fn page(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    said: &'static str,
    set_up: Option<SetUp>,
    error: Option<&ApiError>,
) -> Result<Response, ApiError> {
    let owner = signed_in.owner();
    let language = owner.language;
    let factors = accounts.factors(signed_in.person).await?;
    let is_bound = accounts.two_factor_rule().binds(factors.is_admin);
    let passkey = accounts.needs_passkey(&factors, signed_in.is_strong).await;
    let passkey = passkey.err().map(ApiError::from);
    let error = error.or(passkey.as_ref());
    let fault = error.map(|error| self::fault(error, &[]));
    let Some(totp) = factors.totp else {
        let set_up = match set_up {
            Some(set_up) => set_up,
            None => accounts.begin_set_up(signed_in.person)?,
        };
        let uri = set_up.secret.uri(site.name(), factors.email.as_str());
        let page = AddPage {
            frame: Frame::own(site, owner),
            csrf: owner.csrf,
            said,
            is_needed: is_bound && !signed_in.is_strong && passkey.is_none(),
            image: image(&uri)?,
            uri,
            secret: grouped(&set_up.secret.base32()),
            sealed: &set_up.sealed,
            has_password: accounts.has_password(signed_in.person).await?,
            has_passkeys: accounts.has_passkeys() && site.has_passwords(),
            fault,
        };
        return answered(error, &page);
    };
    let page = FactorsPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        since: language.minute(totp.added_at),
        left: language.count(
            "factor_codes_left",
            factors.recovery_codes.try_into().unwrap_or_default(),
        ),
        is_free: !is_bound,
        fault,
    };
    answered(error, &page)
}

fn answered(error: Option<&ApiError>, page: &impl Template) -> Result<Response, ApiError> {
    match error {
        Some(error) => refused_page(error, page),
        None => own_page(StatusCode::OK, page),
    }
}

/// A fault at its field of a form that has these fields, too: the password is wrong (403), or the code (401).
pub(super) fn fault(error: &ApiError, known: &[&'static str]) -> Fault {
    let fault = Fault::of(error, known);
    match error.status() {
        StatusCode::FORBIDDEN if error.is_wrong_password() => fault.moved("", "password"),
        StatusCode::UNAUTHORIZED => fault.moved("", "otp"),
        _ => fault,
    }
}

fn image(uri: &str) -> Result<String, ApiError> {
    let code = QrCode::encode(uri, ErrorCorrection::L)?;
    Ok(Image::new(&code, SIZE, MARGIN, Colors::default())?.svg())
}

/// In groups of four letters, as people read them.
fn grouped(secret: &str) -> String {
    let letters: Vec<_> = secret.chars().collect();
    let groups = letters
        .chunks(4)
        .map(|four| four.iter().collect::<String>());
    groups.collect::<Vec<_>>().join(" ")
}

pub(super) async fn change(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    PartlySignedIn(signed_in): PartlySignedIn,
    Asking(client): Asking,
    mut form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let change = Change {
        accounts: &accounts,
        site: &site,
        signed_in: &signed_in,
        client: &client,
    };
    let password = Password::at_log_in(form.take("password"));
    let otp = OneTimePassword::parse(&form.take("otp"));
    let (set_up, done) = match form.get("action") {
        "off" => (None, change.remove(password, &otp).await),
        "codes" => (None, change.replace_codes(password, &otp).await),
        _ => {
            let Some(set_up) = accounts.set_up(signed_in.person, form.get("secret")) else {
                // It took too long, or was set up meanwhile: the page begins anew.
                return Ok(see_other(&format!("{TWO_FACTORS}?done=late")));
            };
            let done = change.add(password, &set_up, &otp).await;
            (Some(set_up), done)
        }
    };
    match done {
        Err(error) if !error.is_failure() => {
            page(&accounts, &site, &signed_in, "", set_up, Some(&error)).await
        }
        done => done,
    }
}

/// What one of the forms does.
struct Change<'a> {
    accounts: &'a Accounts,
    site: &'a Site,
    signed_in: &'a SignedIn,
    client: &'a Client,
}

impl Change<'_> {
    async fn add(
        &self,
        password: Password,
        set_up: &SetUp,
        otp: &OneTimePassword,
    ) -> Result<Response, ApiError> {
        let accounts = self.accounts;
        let owner = (self.signed_in.person, self.signed_in.is_strong);
        let added = accounts.add_app(self.client, owner, password, set_up, otp);
        let (principal, codes) = added.await?;
        let shown = self.codes(&codes)?;
        let by = SessionBy::SecondFactor;
        begin_anew(accounts, self.site, self.signed_in, principal, by, shown).await
    }

    async fn remove(
        &self,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<Response, ApiError> {
        let (accounts, owner) = (self.accounts, self.signed_in.person);
        let removed = accounts.remove_app(self.client, owner, password, otp);
        let principal = removed.await?;
        let response = see_other("/app/account?done=factor");
        let by = SessionBy::Password;
        begin_anew(accounts, self.site, self.signed_in, principal, by, response).await
    }

    async fn replace_codes(
        &self,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<Response, ApiError> {
        let (accounts, owner) = (self.accounts, self.signed_in.person);
        let codes = accounts.new_recovery_codes(self.client, owner, password, otp);
        self.codes(&codes.await?)
    }

    fn codes(&self, codes: &[RecoveryCode]) -> Result<Response, ApiError> {
        let codes: Vec<_> = codes.iter().map(RecoveryCode::to_string).collect();
        let page = CodesPage {
            frame: Frame::own(self.site, self.signed_in.owner()),
            text: codes.join("\n"),
            codes,
        };
        own_page(StatusCode::OK, &page)
    }
}
