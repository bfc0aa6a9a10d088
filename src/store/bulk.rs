//! What both databases do alike when many links are created in one call.

use std::collections::HashMap;

use super::rows::link_id;
use super::{Change, CreateLinkError, CreatedLink, CreatedOfMany, Links, NewLink};

/// The outcome for each of many links, by the ids and the changes that the database gave to their codes.
pub(super) fn many_outcomes(
    links: &[NewLink<'_>],
    ids: &HashMap<String, i64>,
    changes: &HashMap<String, i64>,
) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
    let outcome = |link: &NewLink<'_>| {
        let code = link.code.as_str();
        let Some(id) = ids.get(code) else {
            return Ok(Err(CreateLinkError::CodeTaken));
        };
        let change = changes.get(code).map(|number| Change {
            number: *number,
            code: Some(link.code.clone()),
        });
        let id = link_id(*id)?;
        Ok(Ok(CreatedOfMany { id, change }))
    };
    links.iter().map(outcome).collect()
}

/// Creates many links one by one, where not all of them fit into the account.
pub(super) async fn one_by_one(
    store: &dyn Links,
    links: &[NewLink<'_>],
    max_links: u64,
) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
    let mut outcomes = Vec::with_capacity(links.len());
    for link in links {
        let is_full = matches!(outcomes.last(), Some(Err(CreateLinkError::QuotaReached)));
        let created = if is_full {
            Err(CreateLinkError::QuotaReached)
        } else {
            store.create_link(link.clone(), max_links).await
        };
        outcomes.push(match created {
            Ok(CreatedLink { link, change }) => Ok(CreatedOfMany {
                id: link.id,
                change,
            }),
            Err(refused @ (CreateLinkError::CodeTaken | CreateLinkError::QuotaReached)) => {
                Err(refused)
            }
            Err(error) => return Err(error),
        });
    }
    Ok(outcomes)
}
