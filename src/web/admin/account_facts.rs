//! What is known of an account, in words.

use super::moment;
use crate::abuse::Abuse;
use crate::domain::{AccountNumbers, SeenUser};
use crate::http::ApiError;
use crate::web::language::Language;

/// What is known of an account, for a question.
pub(super) async fn facts(
    abuse: &Abuse,
    language: Language,
    user: &SeenUser,
) -> Result<Vec<(&'static str, String)>, ApiError> {
    let numbers = abuse.account_numbers(&[user.id]).await?;
    let numbers = numbers.get(&user.id).copied().unwrap_or_default();
    Ok(vec![
        (
            language.text("admin_account"),
            format!("{} ({})", user.email.as_str(), user.id.0),
        ),
        (language.text("links"), language.number(user.links)),
        (language.text("admin_clicks"), clicks_of(language, numbers)),
        (
            language.text("admin_last_sign_in"),
            match numbers.signed_in_at {
                Some(at) => moment(language, at),
                None => language.text("admin_not_known").to_owned(),
            },
        ),
    ])
}

/// When an account last signed in.
pub(super) fn signed_in(language: Language, numbers: AccountNumbers) -> String {
    match numbers.signed_in_at {
        Some(at) => language.with("admin_signed_in", &[("date", &moment(language, at))]),
        None => language.text("admin_never_signed_in").to_owned(),
    }
}

/// The clicks on an account's links.
pub(super) fn clicks_of(language: Language, numbers: AccountNumbers) -> String {
    let clicks = language.count("clicks", numbers.clicks);
    language.with("admin_in_30_days", &[("clicks", &clicks)])
}

/// How many of an account's links are removed, if any are.
pub(super) fn removed_of(language: Language, links: u64) -> Option<String> {
    (links > 0).then(|| language.count("admin_removed_links", links))
}
