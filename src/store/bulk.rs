//! What both databases do alike when many links are created in one call.

use std::collections::HashMap;
use std::sync::Arc;

use super::rows::link_id;
use super::{
    Change, ClickDetails, CreateLinkError, CreatedLink, CreatedOfMany, DetailedClicks, Links,
    NewLink,
};
use crate::domain::{ClickClass, Interval, LinkId};

/// The outcome for each of many links, by the ids and the changes that the database gave to their codes.
pub(super) fn many_outcomes(
    links: &[NewLink<'_>],
    mut ids: HashMap<String, i64>,
    changes: &HashMap<String, i64>,
) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
    let outcome = |link: &NewLink<'_>| {
        let code = link.code.as_str();
        // Of two links with the same code, only the first has it.
        let Some(id) = ids.remove(code) else {
            return Ok(Err(CreateLinkError::CodeTaken));
        };
        let change = changes.get(code).map(|number| Change {
            number: *number,
            code: Some(link.code.clone()),
        });
        let id = link_id(id)?;
        Ok(Ok(CreatedOfMany { id, change }))
    };
    links.iter().map(outcome).collect()
}

/// The class of the clicks with which links start: another service counted them. Beside it the interval in which they begin.
pub(super) fn imported_clicks(
    links: &[NewLink<'_>],
    id_of: impl Fn(&NewLink<'_>) -> Option<LinkId>,
) -> Option<(ClickDetails, Interval)> {
    let class = Arc::new(ClickClass::imported());
    let clicked = links.iter().filter(|link| link.clicks > 0);
    let clicks = clicked.filter_map(|link| {
        Some(DetailedClicks {
            link: id_of(link)?,
            class: Arc::clone(&class),
            clicks: link.clicks,
        })
    });
    let details = ClickDetails::new(clicks.collect());
    let begin = Interval::of(links.first()?.created_at);
    (!details.is_empty()).then_some((details, begin))
}

/// The same of links that were created one by one.
pub(super) fn imported_one_by_one(
    links: &[NewLink<'_>],
    outcomes: &[Result<CreatedOfMany, CreateLinkError>],
) -> Option<(ClickDetails, Interval)> {
    let ids: HashMap<_, _> = links
        .iter()
        .zip(outcomes)
        .filter_map(|(link, outcome)| Some((link.code, outcome.as_ref().ok()?.id)))
        .collect();
    imported_clicks(links, |link| ids.get(link.code).copied())
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
            Err(error) => return or_rest(outcomes, links.len(), error),
        });
    }
    Ok(outcomes)
}

/// What becomes of many links when the database fails at one of them: those that are created stay so, and the error is the outcome of
/// the others.
pub(super) fn or_rest(
    mut outcomes: Vec<Result<CreatedOfMany, CreateLinkError>>,
    all: usize,
    error: CreateLinkError,
) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
    if !outcomes.iter().any(Result::is_ok) {
        return Err(error);
    }
    outcomes.resize_with(all, || Err(error.clone()));
    Ok(outcomes)
}
