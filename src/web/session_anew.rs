//! A change of an account's factors ends every session, this one, too: the next begins.

use axum::response::Response;

use super::page::Site;
use super::session::{self, SignedIn};
use crate::accounts::Accounts;
use crate::domain::Principal;
use crate::http::ApiError;
use crate::store::SessionBy;

/// Begins the session with the answer to the change. The identity provider's can be begun by the provider only.
pub(super) async fn begin_anew(
    accounts: &Accounts,
    site: &Site,
    signed_in: &SignedIn,
    principal: Principal,
    by: SessionBy<'_>,
    mut response: Response,
) -> Result<Response, ApiError> {
    if signed_in.is_of_provider {
        session::forget(&mut response, site);
        return Ok(response);
    }
    let headers = signed_in.headers();
    let begun = session::begin_with(accounts, site, headers, principal, by, &mut response);
    match begun.await {
        // The change is made, and that is said.
        Err(error) if error.is_failure() => {
            Ok(session::signed_out(site, "/app/login?done=factors"))
        }
        begun => begun.map(|()| response),
    }
}
