//! The live click count of a link, for its page.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::http::{ApiError, ClientAddress, MayListen, PathCode, live_events};
use crate::links::LiveCounts;

/// Looks between two questions whether the session is still open. One that ends with all tokens of its account ends at the next
/// look.
const LOOKS: u32 = 15;

pub(super) async fn live(
    State(live): State<Arc<LiveCounts>>,
    State(accounts): State<Arc<Accounts>>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let listener = live
        .listen(signed_in.principal, &code, client.as_str())
        .await?;
    let listener = listener.ok_or_else(ApiError::url_not_found)?;
    let cookie: Arc<str> = signed_in.cookie().into();
    let mut looks = 0;
    let may_listen: MayListen = Box::new(move || {
        looks += 1;
        let is_due = looks % LOOKS == 0;
        let (accounts, cookie) = (Arc::clone(&accounts), Arc::clone(&cookie));
        Box::pin(async move {
            // What cannot be asked now is asked later.
            !is_due || !matches!(accounts.session(&cookie).await, Ok(None))
        })
    });
    Ok(live_events(listener, may_listen))
}
