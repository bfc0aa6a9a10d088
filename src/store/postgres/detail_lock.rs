//! The lock under which sums of classes change in Postgres.

use super::session::Session;

/// Whether no other instance changes the sums now. What this transaction writes may be lost in a crash: it is done again then.
pub(super) async fn is_alone(session: &mut Session) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT pg_try_advisory_xact_lock(hashtext('shunt click details'), 0)
         FROM set_config('synchronous_commit', 'off', true)",
    )
    .fetch_one(session)
    .await
}
