//! Probes a shard of Redis that is away, until it is back.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::clicks::RecoveryError;
use crate::server::redis_recovery::{RecoverShardError, RedisRecovery};
use crate::shared_redis::{FindMasterError, RedisShard};

/// Pauses between two probes, each twice as long as the pause before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// A shard that was up for this long is probed without a pause: its connections may just have been cut.
const STEADY: Duration = Duration::from_secs(1);

pub(super) async fn run(redis: RedisShard, recovery: RedisRecovery) {
    let mut pause = Duration::ZERO;
    let mut logged = String::new();
    loop {
        let up_since = Instant::now();
        redis.tripped().await;
        pause = if up_since.elapsed() > STEADY {
            Duration::ZERO
        } else {
            (pause * 2).clamp(FIRST_PAUSE, MAX_PAUSE)
        };
        sleep(pause).await;
        if let Err(error) = recovery.recover(&redis).await {
            tracing::debug!(%error, "Redis is still away");
            match &error {
                RecoverShardError::Recovery(RecoveryError::FindMasterError(
                    FindMasterError::Failed(failure),
                )) => redis.note_why_away(failure),
                RecoverShardError::Recovery(RecoveryError::FindMasterError(
                    FindMasterError::Wrong(why),
                )) if logged != *why => {
                    tracing::error!("REDIS_URL: {why}");
                    logged.clone_from(why);
                }
                _ => {}
            }
        }
    }
}
