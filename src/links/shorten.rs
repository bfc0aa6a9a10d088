//! Creating a link.

use std::time::Duration;

use ring::digest::{Context, Digest, SHA256};

use super::refused::Leads;
use super::{CountedLink, LinkError, LinkService};
use crate::domain::{
    Aliases, CustomCode, Link, LinkProperties, LinkRequest, PasswordHash, Principal, ShortCode,
    Timestamp,
};
use crate::limits::{Action, Daily};
use crate::store::{CreateLinkError, CreatedLink, IdempotentRequest, NewLink, UsedKey};
use crate::telemetry::metrics::LIMIT_HITS;

/// How often another code is drawn if the first code is taken: at most about one draw in 100,000 is taken.
pub(super) const DRAWS: usize = 8;

/// How long a request may be repeated with its key.
const KEY_LIFETIME: Duration = Duration::from_hours(24);

/// Bytes that a link takes beside its texts: numbers, moments, its code, entries of indexes.
const BYTES_BESIDE_TEXT: u64 = 256;

/// The key of a request that its client may repeat, and a word for the form of its answer.
#[derive(Clone, Copy, Debug)]
pub struct RequestKey<'a> {
    /// The client's key.
    pub key: &'a str,
    /// What else the request asks for.
    pub form: &'a str,
}

/// Keys that were used before this moment may be used anew.
#[must_use]
pub fn keys_expire_before(now: Timestamp) -> Timestamp {
    now.before(KEY_LIFETIME)
}

impl LinkRequest {
    /// Whether the link would have ended at this moment already, and may not.
    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        let end = self.properties.expires_at;
        !self.may_have_ended && end.is_some_and(|end| end <= now)
    }

    fn fingerprint(&self, form: &str, password: Option<u64>) -> Digest {
        let code = self
            .custom_code
            .as_ref()
            .map(|code| code.as_code().as_key());
        let mut digest = Context::new(&SHA256);
        digest.update(format!("{form}\0{code:?}\0{}\0{}\0", self.clicks, self.at).as_bytes());
        digest.update(&self.properties.canonical());
        digest.update(format!("\0{password:?}").as_bytes());
        digest.finish()
    }

    /// The link that an earlier request with the same key made.
    fn repeated(&self, owner: Principal, used: UsedKey) -> CountedLink {
        CountedLink {
            link: Link {
                id: used.id,
                code: used.code,
                owner: owner.user,
                made_by: owner.user,
                properties: LinkProperties {
                    password: self.new_password.as_ref().map(|_| PasswordHash::withheld()),
                    ..self.properties.clone()
                },
                created_at: used.created_at,
                updated_at: used.created_at,
                removed: used.removed,
            },
            clicks: self.clicks,
            as_of: None,
        }
    }
}

impl LinkService {
    /// Creates a link, for a client at `address`. With a key, the same request gives the same link for a day, however often it is sent.
    ///
    /// # Errors
    /// [`LinkError`].
    pub async fn shorten(
        &self,
        owner: Principal,
        request: &LinkRequest,
        key: Option<RequestKey<'_>>,
        address: &str,
    ) -> Result<CountedLink, LinkError> {
        let caller = owner.user.0.to_string();
        self.limiter.count(Action::Create, &caller).await?;
        let request = &*self.placed(owner, request).await?;
        let Some(RequestKey { key, form }) = key else {
            return self.create(owner, request, None, address).await;
        };
        let fingerprint = request.fingerprint(form, self.password_tag(request));
        let fingerprint = fingerprint.as_ref();
        if let Some(link) = self.repeated(owner, request, key, fingerprint).await? {
            return Ok(link);
        }
        let first = IdempotentRequest { key, fingerprint };
        match self.create(owner, request, Some(first), address).await {
            // The same request may have been faster just now, also with the code.
            Err(
                error @ (LinkError::KeyReused | LinkError::CodeTaken | LinkError::AliasTaken(_)),
            ) => {
                let link = self.repeated(owner, request, key, fingerprint).await?;
                link.ok_or(error)
            }
            created => created,
        }
    }

    async fn repeated(
        &self,
        owner: Principal,
        request: &LinkRequest,
        key: &str,
        fingerprint: &[u8],
    ) -> Result<Option<CountedLink>, LinkError> {
        let since = keys_expire_before(self.clock.now());
        match self.store.used_key(owner, key, since).await? {
            Some(used) if used.fingerprint == fingerprint => {
                Ok(Some(request.repeated(owner, used)))
            }
            Some(_) => Err(LinkError::KeyReused),
            None => Ok(None),
        }
    }

    async fn create(
        &self,
        owner: Principal,
        request: &LinkRequest,
        key: Option<IdempotentRequest<'_>>,
        address: &str,
    ) -> Result<CountedLink, LinkError> {
        let now = self.clock.now();
        self.check_length(owner, request.custom_code.as_ref())
            .await?;
        let aliases = &request.properties.aliases;
        let least = self.least_of_aliases(owner, aliases).await?;
        if aliases.texts().any(|code| code.len() < least) {
            return Err(LinkError::AliasTooShort(least));
        }
        if request.has_ended(now) {
            return Err(LinkError::EndsInPast);
        }
        self.check_countries(request.properties.rules.as_ref())?;
        self.check_targets(Leads::of(&request.properties)).await?;
        let request = &*self.hashed(request, address).await?;
        let bytes = self
            .add_bytes(address, [&request.properties].into_iter())
            .await?;
        let created = self.create_counted(owner, request, key, address, now).await;
        if created.is_err() {
            self.limiter.refund_today(Daily::LinkBytes, address, bytes);
        }
        created
    }

    async fn create_counted(
        &self,
        owner: Principal,
        request: &LinkRequest,
        key: Option<IdempotentRequest<'_>>,
        address: &str,
        now: Timestamp,
    ) -> Result<CountedLink, LinkError> {
        let max_links = self.limits.get().links_per_account;
        let create = async |code: &ShortCode| {
            let new = NewLink {
                is_chosen: request.custom_code.is_some(),
                clicks: request.clicks,
                request: key,
                address: self.kept_address(address),
                ..NewLink::new(code, &request.properties, owner, now)
            };
            // Nothing else is kept of such a link, so that it may be made with others.
            let has_aliases = !request.properties.aliases.as_slice().is_empty();
            if new.is_chosen || new.request.is_some() || new.clicks > 0 || has_aliases {
                self.store.create_link(new, max_links).await
            } else {
                self.creations.create(&self.store, new, max_links).await
            }
        };
        let created = if let Some(code) = &request.custom_code {
            create(code.as_code()).await
        } else {
            let mut draws = 0;
            loop {
                let code = self.draw_code()?.at(request.at);
                draws += 1;
                match create(&code).await {
                    Err(CreateLinkError::CodeTaken) if draws < DRAWS => {}
                    Err(CreateLinkError::CodeTaken) => {
                        return Err(LinkError::NoCode("every draw was taken".into()));
                    }
                    created => break created,
                }
            }
        };
        let CreatedLink { link, changes } =
            created.map_err(|error| LinkError::of_new_link(error, max_links))?;
        // An instance may remember that a code is unknown.
        if !changes.is_empty() {
            self.announce_all(&changes).await;
        }
        Ok(CountedLink {
            link,
            clicks: request.clicks,
            as_of: None,
        })
    }
}

impl LinkService {
    /// Counts what new links add to the database, if that has room; returns how many bytes were counted.
    pub(super) async fn add_bytes(
        &self,
        address: &str,
        links: impl Iterator<Item = &LinkProperties>,
    ) -> Result<u64, LinkError> {
        self.room.check()?;
        let bytes = links
            .map(|link| link.text_bytes() + BYTES_BESIDE_TEXT)
            .sum();
        self.limiter
            .add_today(Daily::LinkBytes, address, bytes)
            .await?;
        Ok(bytes)
    }

    /// The address of a client, where links keep it.
    pub(super) fn kept_address<'a>(&self, address: &'a str) -> Option<&'a str> {
        Some(address).filter(|_| self.audit_days > 0)
    }

    /// Fails if a single link may not have a code so short. Imports make many links at once, and are not asked.
    async fn check_length(
        &self,
        owner: Principal,
        code: Option<&CustomCode>,
    ) -> Result<(), LinkError> {
        let code = code.map(|code| code.as_code().as_str());
        match self.least_length(owner, code.into_iter()).await? {
            0 => Ok(()),
            least => Err(LinkError::CodeTooShort(least)),
        }
    }

    /// The length that an owner's new aliases must have; 0 if none of these is too short.
    pub(super) async fn least_of_aliases(
        &self,
        owner: Principal,
        aliases: &Aliases,
    ) -> Result<usize, LinkError> {
        self.least_length(owner, aliases.texts()).await
    }

    async fn least_length(
        &self,
        owner: Principal,
        mut codes: impl Iterator<Item = &str>,
    ) -> Result<usize, LinkError> {
        let least = self.shortest_code(false);
        if codes.all(|code| code.len() >= least) || self.store.is_admin(owner).await? == Some(true)
        {
            return Ok(0);
        }
        // An account that is gone is refused as such.
        let user = self.store.user(owner).await?;
        user.map_or(Err(LinkError::OwnerGone), |_| Ok(least))
    }

    /// The fewest characters of a code that an owner may choose for a single link.
    #[must_use]
    pub fn shortest_code(&self, is_admin: bool) -> usize {
        if is_admin { 1 } else { self.custom_code_min }
    }

    pub(super) fn draw_code(&self) -> Result<ShortCode, LinkError> {
        let length = self.code_length.get();
        draw(self.is_reserved, || ShortCode::generate(length))
            .map_err(|error| LinkError::NoCode(error.to_string()))
    }
}

impl LinkError {
    /// Why a link was not created, in an account that may have `max_links`.
    pub(super) fn of_new_link(error: CreateLinkError, max_links: u64) -> Self {
        match error {
            CreateLinkError::CodeTaken => Self::CodeTaken,
            CreateLinkError::AliasTaken(code) => Self::AliasTaken(code),
            CreateLinkError::KeyUsed => Self::KeyReused,
            CreateLinkError::OwnerGone => Self::OwnerGone,
            CreateLinkError::QuotaReached => Self::quota_reached(max_links),
            CreateLinkError::Store(error) => error.into(),
        }
    }

    pub(super) fn quota_reached(max_links: u64) -> Self {
        metrics::counter!(LIMIT_HITS, "limit" => "links_of_account").increment(1);
        Self::QuotaReached(max_links)
    }
}

/// Draws a code that is not a reserved word: `metrics` has the letters and the length of a code.
fn draw<E>(
    is_kept: impl Fn(&str) -> bool,
    mut generate: impl FnMut() -> Result<ShortCode, E>,
) -> Result<ShortCode, E> {
    loop {
        let code = generate()?;
        if !is_kept(code.as_str()) {
            return Ok(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_service_is_drawn_again() {
        let mut drawn = ["metrics", "metrics", "K7mXq2R", "docs"].into_iter();
        let code = draw(
            |word| ["docs", "metrics"].contains(&word),
            || drawn.next().and_then(ShortCode::parse).ok_or(()),
        );
        assert_eq!(code, Ok(ShortCode::parse("K7mXq2R").unwrap()));
    }
}
