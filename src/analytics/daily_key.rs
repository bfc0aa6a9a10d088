//! The key of the day, by which a visitor is known again on the same day (UTC) and never afterwards.
//!
//! All instances share it through Redis, where it expires with the day; without Redis it is only in memory. An instance that cannot ask
//! Redis draws a key of its own, and takes that of the others once it can. No key is kept past its day, and the key is in no log.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ring::hmac::{Context, HMAC_SHA256, Key};

use crate::domain::Clock;
use crate::shared_redis::{Call, RedisFailure, RedisShards};

const DAY: u64 = 24 * 60 * 60;

/// So many seconds before its day a key is drawn, so that all instances have it when the day begins.
const AHEAD: u64 = 10 * 60;

/// How long Redis may take: no request waits for it.
const DEADLINE: Duration = Duration::from_secs(2);

/// Bytes of a key.
const LENGTH: usize = 32;

/// The keys of today, and for a while of tomorrow; cheap to clone.
#[derive(Clone)]
pub struct DailyKeys(Arc<Shared>);

struct Shared {
    redis: Option<RedisShards>,
    clock: Arc<dyn Clock>,
    known: RwLock<Vec<DayKey>>,
}

struct DayKey {
    day: u64,
    bytes: [u8; LENGTH],
    key: Key,
}

impl DayKey {
    fn of(day: u64, bytes: [u8; LENGTH]) -> Self {
        let key = Key::new(HMAC_SHA256, &bytes);
        Self { day, bytes, key }
    }

    fn hash(&self, parts: &[&[u8]]) -> u64 {
        let mut context = Context::with_key(&self.key);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let half = context.sign().as_ref().first_chunk().copied();
        u64::from_be_bytes(half.unwrap_or_default())
    }
}

fn drawn() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // Without randomness the program does not start.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

impl DailyKeys {
    /// Keys that are shared through Redis, if there is a Redis.
    #[must_use]
    pub fn new(redis: Option<RedisShards>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Shared {
            redis,
            clock,
            known: RwLock::default(),
        }))
    }

    /// The hash of these parts by the key of today.
    #[must_use]
    pub fn hash(&self, parts: &[&[u8]]) -> u64 {
        let today = self.0.clock.now().unix_seconds() / DAY;
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.iter().find(|key| key.day == today) {
            return key.hash(parts);
        }
        drop(known);
        let mut known = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if !known.iter().any(|key| key.day == today) {
            known.push(DayKey::of(today, drawn()));
        }
        let key = known.iter().find(|key| key.day == today);
        key.map_or(0, |key| key.hash(parts))
    }

    /// Forgets the keys of past days, and agrees with the other instances on that of today and, shortly before its day, of tomorrow.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn refresh(&self) -> Result<(), RedisFailure> {
        let now = self.0.clock.now().unix_seconds();
        let today = now / DAY;
        self.change(|known| known.retain(|key| key.day >= today));
        let tomorrow = ((now + AHEAD) / DAY > today).then_some(today + 1);
        for day in [Some(today), tomorrow].into_iter().flatten() {
            self.agree(day).await?;
        }
        Ok(())
    }

    async fn agree(&self, day: u64) -> Result<(), RedisFailure> {
        let Some(redis) = self.0.redis.as_ref().map(|shards| shards.of_number(0)) else {
            return Ok(());
        };
        if !redis.is_up() {
            return Ok(());
        }
        let own = self.known(day);
        let bytes = own.unwrap_or_else(drawn);
        let name = redis.keys().day_key(day);
        let mut set = redis::cmd("SET");
        set.arg(&name).arg(&bytes[..]);
        set.arg("NX").arg("EXAT").arg((day + 1) * DAY);
        // `OK`, or nothing where another instance was faster.
        let _: Option<String> = redis.query(&Call::plain(set), DEADLINE).await?;
        let mut get = redis::cmd("GET");
        get.arg(&name);
        let shared: Option<Vec<u8>> = redis.query(&Call::plain(get), DEADLINE).await?;
        let shared = shared.and_then(|shared| <[u8; LENGTH]>::try_from(&*shared).ok());
        // A day that has just ended has no key.
        if let Some(shared) = shared.filter(|shared| Some(*shared) != own) {
            self.change(|known| {
                known.retain(|key| key.day != day);
                known.push(DayKey::of(day, shared));
            });
        }
        Ok(())
    }

    fn known(&self, day: u64) -> Option<[u8; LENGTH]> {
        let known = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut keys = known.iter();
        keys.find(|key| key.day == day).map(|key| key.bytes)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<DayKey>)) {
        change(&mut self.0.known.write().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::ManualClock;

    #[tokio::test]
    async fn a_key_is_kept_for_its_day_and_no_longer() {
        let clock = Arc::new(ManualClock::at("2027-01-31T23:58:00Z".parse().unwrap()));
        let keys = DailyKeys::new(None, Arc::clone(&clock) as _);
        let days = |keys: &DailyKeys| -> Vec<u64> {
            let known = keys.0.known.read().unwrap();
            known.iter().map(|key| key.day).collect()
        };
        let first = keys.hash(&[b"a", b"bc"]);
        assert_eq!(keys.hash(&[b"a", b"bc"]), first);
        assert_ne!(keys.hash(&[b"ab", b"c"]), first);
        let today = days(&keys);
        keys.refresh().await.unwrap();
        assert_eq!(days(&keys), today);
        clock.advance(Duration::from_mins(2));
        assert_ne!(keys.hash(&[b"a", b"bc"]), first);
        keys.refresh().await.unwrap();
        assert_eq!(days(&keys), [today[0] + 1]);
    }
}
