//! What is done to several links of the list at once.

use futures_util::future::{join_all, try_join_all};

use super::form::Form;
use super::session::SignedIn;
use crate::domain::{GroupRole, LinkEdit, Principal, ShortCode, TagEdit, Tags, UserId};
use crate::http::ApiError;
use crate::http::paths::parse_placed_code;
use crate::links::{Expected, LinkError, LinkService, Mover};

/// The most links that are changed together: the links of a page.
const MAX_SELECTED: usize = 100;

/// Of these, how many at the same time: each waits for its announcement.
pub(super) const AT_ONCE: usize = 10;

/// The word for what is done where only some of the links are changed.
pub(super) const PARTLY: &str = "partly";

/// What is done to the selected links.
pub(super) enum Action {
    Delete,
    Edit(Box<LinkEdit>),
    /// To another account, for which the person acts, too.
    Move {
        person: UserId,
        to: Principal,
    },
}

/// What came of it.
pub(super) struct Acted {
    /// How many links were changed.
    pub(super) changed: u64,
    /// Why the others were not.
    pub(super) failure: Option<LinkError>,
}

impl Action {
    /// The action with this word, and the word for what is done.
    pub(super) fn of(
        word: &str,
        form: &Form,
        signed_in: &SignedIn,
    ) -> Result<(Self, &'static str), ApiError> {
        Ok(match word {
            "move" => (moved(form.get("to"), signed_in)?, "moved"),
            "delete" => (Self::Delete, "deleted"),
            "pause" => (Self::Edit(switch(false).into()), "paused"),
            "resume" => (Self::Edit(switch(true).into()), "resumed"),
            "tag" => (Self::Edit(tag(form, TagEdit::Add)?.into()), "tagged"),
            "untag" => (Self::Edit(tag(form, TagEdit::Remove)?.into()), "untagged"),
            _ => {
                let detail = "action: must be delete, move, pause, resume, tag or untag";
                return Err(ApiError::invalid(detail));
            }
        })
    }

    /// Does it to each link. A change that any of them refuses is refused before a link is changed.
    pub(super) async fn act_on(
        &self,
        links: &LinkService,
        owner: Principal,
        address: &str,
        codes: &[ShortCode],
    ) -> Result<Acted, ApiError> {
        if let Self::Edit(edit) = self {
            for codes in codes.chunks(AT_ONCE) {
                try_join_all(codes.iter().map(|code| check(links, owner, code, edit))).await?;
            }
        }
        let mut acted = Acted {
            changed: 0,
            failure: None,
        };
        for codes in codes.chunks(AT_ONCE) {
            let made = codes
                .iter()
                .map(|code| act(links, owner, address, code, self));
            for made in join_all(made).await {
                match made {
                    Ok(changed) => acted.changed += u64::from(changed),
                    Err(error) => acted.failure = Some(error),
                }
            }
            if acted.failure.is_some() {
                break;
            }
        }
        Ok(acted)
    }
}

/// Does to each selected link what the form says, and returns the word for it. Once a link is changed, this does not fail.
pub(super) async fn act_on_all(
    links: &LinkService,
    signed_in: &SignedIn,
    address: &str,
    form: &Form,
) -> Result<&'static str, ApiError> {
    // The menu of a link names it itself, whatever is selected.
    let one = ["pause", "resume"].map(|word| (word, form.get(word)));
    let one = one.into_iter().find(|(_, code)| !code.is_empty());
    let (word, codes) = match one {
        Some((word, code)) => (word, vec![code]),
        None => (form.get("action"), form.all("code").collect()),
    };
    check_number(codes.len())?;
    if codes.is_empty() {
        return Ok("none");
    }
    let (action, done) = Action::of(word, form, signed_in)?;
    let owner = signed_in.principal;
    let codes: Vec<_> = codes.into_iter().filter_map(parse_placed_code).collect();
    let acted = action.act_on(links, owner, address, &codes).await?;
    match acted.failure {
        None => Ok(done),
        Some(_) if acted.changed > 0 => Ok(PARTLY),
        Some(error) => Err(error.into()),
    }
}

/// Brings links back from the bin. Returns how many came back, and why another one did not.
pub(super) async fn restore(
    links: &LinkService,
    owner: Principal,
    codes: &[ShortCode],
    address: &str,
) -> (u64, Option<LinkError>) {
    let (mut restored, mut failure) = (0, None);
    for codes in codes.chunks(AT_ONCE) {
        let each = codes.iter().map(|code| links.restore(owner, code, address));
        for outcome in join_all(each).await {
            match outcome {
                Ok(link) => restored += u64::from(link.is_some()),
                Err(error) => failure = Some(error),
            }
        }
        if failure.is_some() {
            break;
        }
    }
    (restored, failure)
}

/// Refuses a form with more links than a page has.
pub(super) fn check_number(links: usize) -> Result<(), ApiError> {
    if links > MAX_SELECTED {
        let detail = format!("code: at most {MAX_SELECTED} links can be selected at once");
        return Err(ApiError::invalid(detail));
    }
    Ok(())
}

/// To the account itself, or to a group in which it is at least an editor.
fn moved(to: &str, signed_in: &SignedIn) -> Result<Action, ApiError> {
    let person = signed_in.person;
    let to = match to {
        "" | "me" => person,
        number => {
            let mut groups = signed_in.acting.groups.iter();
            let group = groups.find(|group| group.id.0.to_string() == number);
            let group = group.ok_or_else(ApiError::group_not_found)?;
            if group.role < GroupRole::Editor {
                return Err(ApiError::role_too_small(group.role, GroupRole::Editor));
            }
            Principal {
                user: group.id,
                ..person
            }
        }
    };
    Ok(Action::Move {
        person: person.user,
        to,
    })
}

fn switch(is_active: bool) -> LinkEdit {
    LinkEdit {
        is_active: Some(is_active),
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
        Action::Move { person, to } => {
            let mover = Mover {
                person: *person,
                to: *to,
                address,
            };
            links.is_moved(owner, code, &Expected::Any, &mover).await
        }
        Action::Edit(edit) => {
            let edited = links
                .edit(owner, code, edit, &Expected::Any, address)
                .await?;
            Ok(edited.is_some())
        }
    }
}
