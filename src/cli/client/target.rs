//! Targets as people write them.

use std::borrow::Cow;

use super::output;
use super::service_url::with_scheme;

/// The target with its scheme. The person learns if one was added.
pub(super) fn completed(target: &str) -> Cow<'_, str> {
    let Some(completed) = with_scheme(target) else {
        return target.into();
    };
    let (scheme, _) = completed.split_once("://").unwrap_or_default();
    output::note(&format!("{scheme}:// was added: {completed}"));
    completed.into()
}
