//! The passkeys of an account: a list, adding one, removing one.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::form::{Fault, Form};
use super::page::{Frame, Site, own_page, refused_page, see_other};
use super::session::{PartlySignedIn, SignedIn};
use super::session_anew::begin_anew;
use super::two_factors::fault;
use crate::accounts::{Accounts, Client, PasskeyChallenge};
use crate::domain::{KeyName, OneTimePassword, Password, Zone};
use crate::http::{ApiError, Asking, QueryOf};
use crate::store::SessionBy;

/// The page itself.
const PATH: &str = "/app/account/passkeys";

#[derive(Template)]
#[template(path = "passkeys.html")]
struct PasskeysPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    said: &'static str,
    is_late: bool,
    has_password: bool,
    passkeys: Vec<ShownPasskey>,
    /// Whether a code is asked for beside the password.
    has_app: bool,
    /// The passkey that is to be removed, as its owner chose it.
    chosen: &'a str,
    fault: Option<(FormOf, Fault)>,
}

/// A form of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormOf {
    Add,
    Remove,
}

impl PasskeysPage<'_> {
    fn fault_of(&self, form: FormOf, field: &str) -> Option<&str> {
        let (_, fault) = self.fault.as_ref().filter(|(of, _)| *of == form)?;
        fault.at(field)
    }

    fn add_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Add, field)
    }

    fn remove_fault(&self, field: &str) -> Option<&str> {
        self.fault_of(FormOf::Remove, field)
    }
}

struct ShownPasskey {
    id: String,
    name: String,
    added: String,
    /// Empty if it was never used.
    used: String,
}

/// The second step of adding one, in which the browser makes it.
#[derive(Template)]
#[template(path = "new_passkey.html")]
struct NewPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    options: &'a str,
    sealed: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

/// Refuses a page that leads nowhere here.
fn available(accounts: &Accounts, site: &Site) -> Result<(), ApiError> {
    if accounts.has_passkeys() && site.has_passwords() {
        Ok(())
    } else {
        Err(ApiError::not_found())
    }
}

pub(super) async fn show(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    PartlySignedIn(signed_in): PartlySignedIn,
    QueryOf(done): QueryOf<Done>,
) -> Result<Response, ApiError> {
    available(&accounts, &site)?;
    let language = signed_in.owner().language;
    let said = match done.done.as_str() {
        "added" => language.text("passkey_done_added"),
        "removed" => language.text("passkey_done_removed"),
        "late" => language.text("passkey_late"),
        _ => "",
    };
    page(&accounts, &site, &signed_in, said, "", None).await
}

async fn page(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    said: &'static str,
    chosen: &str,
    refused: Option<(FormOf, Fault, &ApiError)>,
) -> Result<Response, ApiError> {
    let (fault, error) = match refused {
        Some((form, fault, error)) => (Some((form, fault)), Some(error)),
        None => (None, None),
    };
    let owner = signed_in.owner();
    let language = owner.language;
    let passkeys = accounts.passkeys(signed_in.person).await?;
    let passkeys = passkeys.into_iter().map(|passkey| ShownPasskey {
        id: passkey.id.to_string(),
        name: passkey.name.as_str().to_owned(),
        added: language.date(passkey.added_at, &Zone::UTC),
        used: (passkey.used_at).map_or_else(String::new, |at| language.date(at, &Zone::UTC)),
    });
    let page = PasskeysPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        said,
        is_late: said == language.text("passkey_late"),
        has_password: accounts.has_password(signed_in.person).await?,
        passkeys: passkeys.collect(),
        has_app: accounts.factors(signed_in.person).await?.totp.is_some(),
        chosen,
        fault,
    };
    match error {
        Some(error) => refused_page(error, &page),
        None => own_page(StatusCode::OK, &page),
    }
}

pub(super) async fn change(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    PartlySignedIn(signed_in): PartlySignedIn,
    Asking(client): Asking,
    mut form: Form,
) -> Result<Response, ApiError> {
    available(&accounts, &site)?;
    signed_in.check(&site, &form)?;
    let change = Change {
        accounts: &accounts,
        site: &site,
        signed_in: &signed_in,
        client: &client,
    };
    let password = Password::at_log_in(form.take("password"));
    let otp = OneTimePassword::parse(&form.take("otp"));
    let (of, done) = match form.get("action") {
        "made" => return change.add(&form).await,
        "remove" => {
            let chosen = form.get("passkey");
            (FormOf::Remove, change.remove(chosen, password, &otp).await)
        }
        _ => (FormOf::Add, change.begin(password, &otp).await),
    };
    match done {
        Err(error) if !error.is_failure() => {
            let refused = Some((of, fault(&error, &["passkey"]), &error));
            page(
                &accounts,
                &site,
                &signed_in,
                "",
                form.get("passkey"),
                refused,
            )
            .await
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
    async fn begin(&self, password: Password, otp: &OneTimePassword) -> Result<Response, ApiError> {
        let owner = self.signed_in.person;
        let begun = self.accounts.begin_passkey(
            self.client,
            (owner, self.signed_in.is_strong),
            password,
            Some(otp),
        );
        let PasskeyChallenge { options, sealed } = begun.await?;
        let owner = self.signed_in.owner();
        let page = NewPage {
            csrf: owner.csrf,
            frame: Frame::own(self.site, owner),
            options: &options,
            sealed: &sealed,
        };
        own_page(StatusCode::OK, &page)
    }

    async fn add(&self, form: &Form) -> Result<Response, ApiError> {
        // The device has the passkey already: it is added by a name of ours, if need be.
        let language = self.signed_in.owner().language;
        let name = KeyName::parse(form.get("name").trim())
            .or_else(|_| KeyName::parse(language.text("passkey_nameless")))
            .map_err(|error| ApiError::internal(&error.to_string()))?;
        let owner = self.signed_in.person;
        let (sealed, answer) = (form.get("sealed"), form.get("answer"));
        let added = self
            .accounts
            .add_passkey(self.client, owner, sealed, answer, &name);
        match added.await.map_err(ApiError::from) {
            Ok(None) => Ok(see_other(&format!("{PATH}?done=late"))),
            Ok(Some(principal)) => {
                let response = see_other(&format!("{PATH}?done=added"));
                if principal == owner {
                    return Ok(response);
                }
                let by = SessionBy::SecondFactor;
                begin_anew(
                    self.accounts,
                    self.site,
                    self.signed_in,
                    principal,
                    by,
                    response,
                )
                .await
            }
            Err(error) if error.is_failure() => Err(error),
            Err(error) => {
                let refused = Some((FormOf::Add, Fault::of(&error, &[]), &error));
                page(self.accounts, self.site, self.signed_in, "", "", refused).await
            }
        }
    }

    async fn remove(
        &self,
        chosen: &str,
        password: Password,
        otp: &OneTimePassword,
    ) -> Result<Response, ApiError> {
        let owner = self.signed_in.person;
        let id = chosen.parse().unwrap_or_default();
        let removed = self.accounts.remove_passkey(
            self.client,
            (owner, self.signed_in.is_strong),
            id,
            password,
            Some(otp),
        );
        let Some(principal) = removed.await? else {
            return Ok(see_other(PATH));
        };
        let by = if self.signed_in.is_strong {
            SessionBy::SecondFactor
        } else {
            SessionBy::Password
        };
        let response = see_other(&format!("{PATH}?done=removed"));
        begin_anew(
            self.accounts,
            self.site,
            self.signed_in,
            principal,
            by,
            response,
        )
        .await
    }
}
