//! The lock that keeps two instances from summing visitor classes in Postgres at the same time.

use super::session::Session;

/// Whether no other instance changes the sums now. What this transaction writes may be lost in a crash: it is done again then.
pub(super) async fn is_alone(session: &mut Session) -> Result<bool, sqlx::Error> {
    let is_alone: Option<bool> = sqlx::query_scalar(
        "SELECT true FROM click_detail_state, set_config('synchronous_commit', 'off', true)
         FOR UPDATE OF click_detail_state SKIP LOCKED",
    )
    .fetch_optional(session)
    .await?;
    Ok(is_alone.unwrap_or_default())
}
