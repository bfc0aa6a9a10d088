//! Making a link.

use super::{LinkError, LinkService};
use crate::domain::{Link, ShortCode, TargetUrl, UserId};
use crate::limits::Action;
use crate::store::{CreateLinkError, NewLink};

/// How often a code that is taken is drawn again: with a thousand million links one draw in 1,700 is.
const DRAWS: usize = 8;

impl LinkService {
    /// Makes a link under a fresh code.
    ///
    /// # Errors
    /// [`LinkError`].
    pub async fn shorten(&self, owner: UserId, target: &TargetUrl) -> Result<Link, LinkError> {
        let caller = owner.0.to_string();
        self.limiter.count(Action::Create, &caller).await?;
        for _ in 0..DRAWS {
            let code =
                ShortCode::generate().map_err(|error| LinkError::NoCode(error.to_string()))?;
            let link = NewLink {
                code: &code,
                target,
                owner,
                created_at: self.clock.now(),
            };
            match self.links.create_link(link).await {
                Ok(link) => return Ok(link),
                Err(CreateLinkError::CodeTaken) => {}
                Err(CreateLinkError::OwnerGone) => return Err(LinkError::OwnerGone),
                Err(CreateLinkError::Store(error)) => return Err(error.into()),
            }
        }
        Err(LinkError::NoCode("every draw was taken".into()))
    }
}
