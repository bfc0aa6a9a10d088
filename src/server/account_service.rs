//! The service of accounts, put together from the settings.

use std::sync::Arc;

use crate::accounts::{Accounts, PasswordHasher, Secrets, Tokens, passkeys_of};
use crate::config::{BaseUrl, Config};
use crate::domain::Clock;
use crate::limits::{CurrentLimits, FailureLimiter, Limiter};
use crate::redirect::LinkPasswords;
use crate::server::error::ServeError;
use crate::server::from_settings::{common_passwords, identities};
use crate::shared_redis::RedisShards;
use crate::store::Store;

/// The service of accounts, and what passwords of links need: a hasher with a queue of its own, and the same limits.
pub(super) fn accounts(
    config: &Config,
    store: &Store,
    redis: Option<&RedisShards>,
    base_url: &BaseUrl,
    (limits, limiter): (&CurrentLimits, &Limiter),
    secrets: &Secrets,
    clock: &Arc<dyn Clock>,
) -> Result<(Accounts, PasswordHasher, LinkPasswords), ServeError> {
    let hasher = PasswordHasher::new(config.hashing_concurrency)?;
    let of_links = hasher.for_links();
    let failures = FailureLimiter::new(
        limits.clone(),
        redis.cloned(),
        limiter.hasher().clone(),
        Arc::clone(clock),
    );
    let link_passwords = LinkPasswords::new(store.clone(), of_links.clone(), failures.of_links());
    let tokens = Tokens::new(
        secrets,
        base_url.as_str(),
        config.jwt_ttl,
        Arc::clone(clock),
    );
    let accounts = Accounts::new(
        store,
        hasher,
        tokens,
        common_passwords(config)?,
        limiter.clone(),
        failures,
        Arc::clone(clock),
    );
    let accounts = accounts.with_registration(config.registration.clone());
    let identities = identities(config, base_url, secrets, clock)?;
    let accounts = accounts.with_identities(identities, config.oidc.passwords());
    let accounts = accounts.with_two_factors(config.oidc.require_two_factors);
    let passkeys = passkeys_of(base_url.as_str(), &config.site.site_name);
    let accounts = accounts.with_passkeys(passkeys);
    Ok((accounts, of_links, link_passwords))
}
