//! What browsers are called in the list of sessions.

use super::language::Language;

/// What a session's browser is called.
pub(super) fn browser_shown(language: Language, agent: String) -> String {
    if agent.is_empty() {
        language.text("acct_other_browser").to_owned()
    } else {
        agent
    }
}

/// What a browser is called in the list of sessions, empty if it is another one: no more of its own description is kept.
pub(super) fn browser_name(agent: &str) -> String {
    let first = |names: &[(&str, &'static str)]| {
        let mut names = names.iter();
        names.find_map(|(word, name)| agent.contains(word).then_some(*name))
    };
    let browser = first(&[
        ("Firefox/", "Firefox"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => String::new(),
    }
}
