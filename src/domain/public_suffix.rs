//! The public suffix list: names below which everybody may register a domain, such as `com`, `co.uk` and `github.io`.
//!
//! The rules are data, in `public_suffix/rules.txt`, and the script `refresh` beside them replaces them by newer ones.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

static RULES: LazyLock<HashMap<&str, Rule, RandomState>> =
    LazyLock::new(|| read(include_str!("public_suffix/rules.txt")));

/// What the list says of a name; nothing by default, of a name that only others end in.
#[derive(Clone, Copy, Default)]
struct Rule {
    /// `co.uk`: the name is a suffix.
    is_suffix: bool,
    /// `*.ck`: each name below it is a suffix.
    is_above_suffixes: bool,
    /// `!www.ck`: not a suffix, whatever the rule above says.
    is_exception: bool,
}

fn read(list: &str) -> HashMap<&str, Rule, RandomState> {
    let mut rules = HashMap::<_, Rule, _>::default();
    for line in list.lines().filter(|line| !line.starts_with("//")) {
        let name = line.trim_start_matches("*.").trim_start_matches('!');
        // Each end of it is there, too, so that a look-up may stop at the first name that is not.
        for end in ends(name) {
            rules.entry(end).or_default();
        }
        let rule = rules.entry(name).or_default();
        match line.as_bytes().first() {
            Some(b'*') => rule.is_above_suffixes = true,
            Some(b'!') => rule.is_exception = true,
            _ => rule.is_suffix = true,
        }
    }
    rules
}

/// The last label of a name, the last two, and so on.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.rmatch_indices('.').map(|(dot, _)| dot + 1);
    starts.chain([0]).map(|start| &name[start..])
}

/// Reads the list now, so that no request waits for it.
pub fn prepare() {
    LazyLock::force(&RULES);
}

/// The public suffix of a host in lower case: its last label if no rule covers it.
#[must_use]
pub fn public_suffix(host: &str) -> &str {
    let (mut suffix, mut above) = ("", "");
    // The rule that holds by default is `*`.
    let mut is_below_wildcard = true;
    for end in ends(host) {
        let rule = RULES.get(end).copied();
        if rule.is_some_and(|rule| rule.is_exception) {
            return above;
        }
        if is_below_wildcard || rule.is_some_and(|rule| rule.is_suffix) {
            suffix = end;
        }
        let Some(rule) = rule else { break };
        is_below_wildcard = rule.is_above_suffixes;
        above = end;
    }
    suffix
}

/// The part of a host in lower case that somebody registered: its public suffix, and the label before it.
#[must_use]
pub fn registrable_domain(host: &str) -> Option<&str> {
    let before = host.strip_suffix(public_suffix(host))?.strip_suffix('.')?;
    let start = before.rfind('.').map_or(0, |dot| dot + 1);
    (!before.is_empty()).then(|| &host[start..])
}

/// Whether the list names a suffix.
#[must_use]
pub fn is_listed_suffix(name: &str) -> bool {
    RULES.get(name).is_some_and(|rule| rule.is_suffix)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// All rules of the file, as they stand in it.
    fn rules() -> Vec<&'static str> {
        let list = include_str!("public_suffix/rules.txt");
        let is_rule = |line: &&str| !line.starts_with("//");
        list.lines().filter(is_rule).collect()
    }

    #[test]
    fn every_rule_of_the_list_decides_about_the_names_that_it_is_for() {
        let rules = rules();
        assert!(rules.len() > 10_000, "{} rules", rules.len());
        let above: HashSet<_> = rules
            .iter()
            .filter_map(|rule| rule.strip_prefix("*."))
            .collect();
        for rule in rules {
            if let Some(name) = rule.strip_prefix('!') {
                let (_, suffix) = name.split_once('.').unwrap();
                assert_eq!(public_suffix(name), suffix);
                assert_eq!(registrable_domain(name), Some(name));
                assert_eq!(registrable_domain(&format!("www.{name}")), Some(name));
                continue;
            }
            let suffix = rule.replace('*', "any-name");
            assert_eq!(public_suffix(&suffix), suffix);
            assert_eq!(registrable_domain(&suffix), None);
            if above.contains(rule) {
                continue;
            }
            let domain = format!("any-name.{suffix}");
            assert_eq!(registrable_domain(&domain), Some(&*domain));
            let below = format!("a.b.{domain}");
            assert_eq!(registrable_domain(&below), Some(&*domain));
        }
    }

    #[test]
    fn the_examples_of_the_list_itself_hold() {
        let mut count = 0;
        for line in include_str!("public_suffix/examples.txt").lines() {
            let Some(arguments) = line.strip_prefix("checkPublicSuffix(") else {
                continue;
            };
            let mut quoted = arguments.split('\'');
            let Some(host) = quoted.nth(1) else { continue };
            // Hosts come in lower case and do not begin with a dot.
            if host.starts_with('.') || host != host.to_lowercase() {
                continue;
            }
            count += 1;
            assert_eq!(registrable_domain(host), quoted.nth(1), "{host}");
        }
        assert!(count > 60, "{count} examples");
    }

    #[test]
    fn only_names_of_the_list_are_listed_suffixes() {
        for name in [
            "com",
            "co.uk",
            "github.io",
            "\u{4e2d}\u{56fd}",
            "xn--fiqs8s",
        ] {
            assert!(is_listed_suffix(name), "{name}");
        }
        // Below `ck` each name is a suffix; `ck` itself is not.
        for name in ["ck", "intranet", "example.com", "www.ck", ""] {
            assert!(!is_listed_suffix(name), "{name}");
        }
    }
}
