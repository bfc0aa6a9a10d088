//! The tabs of the list: the links of each status, and how many they are.

use super::language::Language;
use super::link_list::{ENDED, ListQuery, word};
use crate::domain::LinkStatus;
use crate::store::{LinkNumber, StatusCounts};

/// Links of a status.
pub(super) struct StatusTab {
    pub(super) path: String,
    pub(super) label: String,
    /// Empty if it is not known.
    pub(super) number: String,
    pub(super) is_current: bool,
}

/// The tabs above a list. Without numbers where a text is searched for: to count would cost as much as to search all links.
pub(super) fn tabs(
    language: Language,
    query: &ListQuery,
    counts: Option<&StatusCounts>,
) -> Vec<StatusTab> {
    let scheduled = counts.map(|counts| counts.scheduled);
    let mut words = vec![
        ("", language.text("list_all")),
        ("active", language.text("list_active")),
        ("inactive", language.text("list_paused")),
        ("scheduled", language.text("list_scheduled")),
        (ENDED, language.text("list_ended")),
    ];
    // Few links are scheduled.
    let has_scheduled = scheduled.is_some_and(|number| number.links > 0);
    words.retain(|(status, _)| {
        *status != "scheduled" || has_scheduled || query.status == "scheduled"
    });
    let of_status = |(status, label): (&str, &str)| StatusTab {
        path: query.with_status(status),
        label: label.to_owned(),
        number: counts.map_or_else(String::new, |counts| {
            number_of(counts, status).map_or_else(String::new, |number| shown(language, number))
        }),
        is_current: query.status == status,
    };
    let mut tabs: Vec<_> = words.into_iter().map(of_status).collect();
    // An address may name a status that belongs to another tab: it gets a tab of its own.
    if let Some(status) = LinkStatus::parse(&query.status)
        && tabs.iter().all(|tab| !tab.is_current)
    {
        tabs.push(of_status((&query.status, word(language, status))));
    }
    tabs
}

/// How many links have the status of a list.
pub(super) fn number_of(counts: &StatusCounts, status: &str) -> Option<LinkNumber> {
    match status {
        "" => Some(counts.all),
        "active" => counts.active.map(|links| LinkNumber {
            links,
            is_whole: true,
        }),
        "inactive" => Some(counts.paused),
        "scheduled" => Some(counts.scheduled),
        ENDED => Some(counts.ended),
        _ => None,
    }
}

/// A number, which is a least number if there may be more.
pub(super) fn shown(language: Language, number: LinkNumber) -> String {
    let more = if number.is_whole { "" } else { "+" };
    format!("{}{more}", language.number(number.links))
}
