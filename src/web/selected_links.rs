//! What is done to several links of the list at once.

use futures_util::future::{join_all, try_join_all};

use super::form::Form;
use crate::domain::{LinkEdit, Principal, ShortCode, TagEdit, Tags};
use crate::http::ApiError;
use crate::http::paths::parse_placed_code;
use crate::links::{Expected, LinkError, LinkService};

/// The most links that are changed together: the links of a page.
const MAX_SELECTED: usize = 100;

/// Of these, how many at the same time: each waits for its announcement.
pub(super) const AT_ONCE: usize = 10;

/// The word for what is done where only some of the links are changed.
pub(super) const PARTLY: &str = "partly";

/// What is done to the selected links.
enum Action {
    Delete,
    Edit(Box<LinkEdit>),
}

/// Does to each selected link what the form says, and returns the word for it. Once a link is changed, this does not fail.
pub(super) async fn act_on_all(
    links: &LinkService,
    owner: Principal,
    address: &str,
    form: &Form,
) -> Result<&'static str, ApiError> {
    let codes: Vec<&str> = form.all("code").collect();
    check_number(codes.len())?;
    if codes.is_empty() {
        return Ok("none");
    }
    let (action, done) = match form.get("action") {
        "delete" => (Action::Delete, "deleted"),
        "pause" => (Action::Edit(pause().into()), "paused"),
        "tag" => (Action::Edit(tag(form, TagEdit::Add)?.into()), "tagged"),
        "untag" => (Action::Edit(tag(form, TagEdit::Remove)?.into()), "untagged"),
        _ => {
            let detail = "action: must be delete, pause, tag or untag";
            return Err(ApiError::invalid(detail));
        }
    };
    let codes: Vec<_> = codes.into_iter().filter_map(parse_placed_code).collect();
    // A change that any link refuses is refused before a link is changed.
    if let Action::Edit(edit) = &action {
        for codes in codes.chunks(AT_ONCE) {
            try_join_all(codes.iter().map(|code| check(links, owner, code, edit))).await?;
        }
    }
    let (mut is_changed, mut failure) = (false, None);
    for codes in codes.chunks(AT_ONCE) {
        let made = codes
            .iter()
            .map(|code| act(links, owner, address, code, &action));
        for made in join_all(made).await {
            match made {
                Ok(changed) => is_changed |= changed,
                Err(error) => failure = Some(error),
            }
        }
        if failure.is_some() {
            break;
        }
    }
    match failure {
        None => Ok(done),
        Some(_) if is_changed => Ok(PARTLY),
        Some(error) => Err(error.into()),
    }
}

/// Refuses a form with more links than a page has.
pub(super) fn check_number(links: usize) -> Result<(), ApiError> {
    if links > MAX_SELECTED {
        let detail = format!("code: at most {MAX_SELECTED} links can be selected at once");
        return Err(ApiError::invalid(detail));
    }
    Ok(())
}

fn pause() -> LinkEdit {
    LinkEdit {
        is_active: Some(false),
        ..LinkEdit::default()
    }
}

/// The service adds and removes tags in the transaction that reads them, so two windows at the same time lose nothing.
fn tag(form: &Form, edit: fn(Tags) -> TagEdit) -> Result<LinkEdit, ApiError> {
    let tags = Tags::parse_list(form.get("tag"));
    let tags = tags.map_err(|error| ApiError::invalid(error.to_string()))?;
    if tags.as_slice().is_empty() {
        return Err(ApiError::invalid("tags: must have at least one tag"));
    }
    Ok(LinkEdit {
        tags: Some(edit(tags)),
        ..LinkEdit::default()
    })
}

/// Checks whether a link may be changed in this way. A missing link, or a link of another account, is passed over.
async fn check(
    links: &LinkService,
    owner: Principal,
    code: &ShortCode,
    edit: &LinkEdit,
) -> Result<(), ApiError> {
    match links.may_edit(owner, code, edit).await {
        Ok(_) => Ok(()),
        Err(LinkError::Invalid(why)) => Err(ApiError::invalid(format!(
            "{why} (link {code}; no link was changed)"
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the link is changed; a missing link, or a link of another account, is passed over.
async fn act(
    links: &LinkService,
    owner: Principal,
    address: &str,
    code: &ShortCode,
    action: &Action,
) -> Result<bool, LinkError> {
    match action {
        Action::Delete => links.delete(owner, code, &Expected::Any).await,
        Action::Edit(edit) => {
            let edited = links
                .edit(owner, code, edit, &Expected::Any, address)
                .await?;
            Ok(edited.is_some())
        }
    }
}
