//! What administrators look for: links of all accounts, and accounts, by steps as owners look for theirs.

use crate::domain::{LinkId, Newest, NewestWanted, SeenLink, SeenUser};
use crate::store::{Position, Steps, Store, StoreError};

pub(super) async fn links(
    store: &Store,
    wanted: &NewestWanted,
) -> Result<Newest<SeenLink>, StoreError> {
    let mut steps = steps(wanted);
    while let Some(step) = next_step(&steps, wanted) {
        steps.add(store.scan_seen_links(&step).await?);
    }
    let (numbers, next) = numbers(steps);
    let entries = store.seen_links(&numbers).await?;
    Ok(Newest { entries, next })
}

pub(super) async fn accounts(
    store: &Store,
    wanted: &NewestWanted,
) -> Result<Newest<SeenUser>, StoreError> {
    let mut steps = steps(wanted);
    while let Some(step) = next_step(&steps, wanted) {
        steps.add(store.scan_seen_users(&step).await?);
    }
    let (numbers, next) = numbers(steps);
    let entries = store.seen_users(&numbers).await?;
    Ok(Newest { entries, next })
}

/// The key of a position is the number of its link or account.
fn steps(wanted: &NewestWanted) -> Steps {
    let before = |key| Position {
        key,
        id: LinkId::LAST,
    };
    Steps::new(wanted.limit, wanted.before.map(before))
}

fn next_step(steps: &Steps, wanted: &NewestWanted) -> Option<NewestWanted> {
    let (after, limit) = steps.next_step()?;
    Some(NewestWanted {
        before: after.map(|after| after.key),
        limit,
        ..wanted.clone()
    })
}

/// The numbers of the entries that were found, and the number before which there may be more.
fn numbers(steps: Steps) -> (Vec<i64>, Option<i64>) {
    let (found, next) = steps.found();
    let numbers = found.iter().map(|position| position.key).collect();
    (numbers, next.map(|next| next.key))
}
