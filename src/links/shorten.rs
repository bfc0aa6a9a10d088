//! Creating a link.

use super::{LinkError, LinkService};
use crate::domain::{Link, Principal, ShortCode, TargetUrl};
use crate::limits::Action;
use crate::store::{CreateLinkError, NewLink};
use crate::telemetry::metrics::LIMIT_HITS;

/// How often another code is drawn where a link has the first one: with a thousand million links one draw in 1,700 is
/// taken.
const DRAWS: usize = 8;

impl LinkService {
    /// Creates a link under a fresh code.
    ///
    /// # Errors
    /// [`LinkError`].
    pub async fn shorten(&self, owner: Principal, target: &TargetUrl) -> Result<Link, LinkError> {
        let caller = owner.user.0.to_string();
        self.limiter.count(Action::Create, &caller).await?;
        let max_links = self.limits.get().links_per_account;
        for _ in 0..DRAWS {
            let code = draw(self.reserved_words, ShortCode::generate)
                .map_err(|error| LinkError::NoCode(error.to_string()))?;
            let link = NewLink {
                code: &code,
                target,
                owner,
                created_at: self.clock.now(),
            };
            match self.links.create_link(link, max_links).await {
                Ok(link) => return Ok(link),
                Err(CreateLinkError::CodeTaken) => {}
                Err(CreateLinkError::QuotaReached) => {
                    metrics::counter!(LIMIT_HITS, "limit" => "links_of_account").increment(1);
                    return Err(LinkError::QuotaReached(max_links));
                }
                Err(CreateLinkError::OwnerGone) => return Err(LinkError::OwnerGone),
                Err(CreateLinkError::Store(error)) => return Err(error.into()),
            }
        }
        Err(LinkError::NoCode("every draw was taken".into()))
    }
}

/// Draws a code that is no reserved word: `metrics` has the letters and the length of a code.
fn draw<E>(
    reserved: &[&str],
    mut generate: impl FnMut() -> Result<ShortCode, E>,
) -> Result<ShortCode, E> {
    loop {
        let code = generate()?;
        if !reserved.contains(&code.as_str()) {
            return Ok(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_word_is_drawn_again() {
        let mut drawn = ["metrics", "metrics", "K7mXq2R", "docs"].into_iter();
        let code = draw(&["docs", "metrics"], || {
            drawn.next().and_then(ShortCode::parse).ok_or(())
        });
        assert_eq!(code, Ok(ShortCode::parse("K7mXq2R").unwrap()));
    }
}
