//! The error message for an unknown parameter, field or column, with the name that was probably meant.

/// Names that are likelier a slip than another name have at most so many letters wrong.
const MAX_SLIPS: usize = 2;

/// The sentence for an unknown name: with the name that is meant, if that is clear, and otherwise with all known names, in
/// their own order. A name that the request also has is not meant.
#[must_use]
pub fn unknown_name<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    given: &[String],
) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let known: Vec<_> = known.collect();
    let is_given = |known: &str| given.iter().any(|given| given == known);
    let free = known.iter().filter(|known| !is_given(known));
    let meant = free
        .filter(|known| may_mean(name, known))
        .max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    let name: String = match name {
        "" => "\"\"".to_owned(),
        name => name.chars().take(64).collect(),
    };
    match (meant, known.as_slice()) {
        (Some(meant), _) => format!("{name}: is not known here; did you mean {meant}?"),
        (None, []) => format!("{name}: is not known here"),
        (None, [only]) => format!("{name}: is not known here; the only known name is {only}"),
        (None, known) => format!(
            "{name}: is not known here; known names are {}",
            known.join(", ")
        ),
    }
}

/// Whether a name is a slip of a known one, or its first words.
fn may_mean(name: &str, known: &str) -> bool {
    let slips = strsim::osa_distance(name, known);
    let rest = known.strip_prefix(name);
    let begins = !name.is_empty() && rest.is_some_and(|rest| rest.starts_with('_'));
    begins || (slips <= MAX_SLIPS && 2 * slips < name.chars().count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KNOWN: [&str; 6] = [
        "target_url",
        "custom_code",
        "max_clicks",
        "title",
        "tags",
        "to",
    ];

    fn sentence(name: &str, given: &[&str]) -> String {
        let given: Vec<_> = given.iter().map(ToString::to_string).collect();
        unknown_name(name, KNOWN.into_iter(), &given)
    }

    #[test]
    fn a_name_that_is_nearly_a_known_one_is_taken_for_a_slip() {
        for (name, meant) in [
            ("titel", "title"),
            ("tag", "tags"),
            ("target", "target_url"),
            ("targeturl", "target_url"),
            ("custom_cod", "custom_code"),
            ("max", "max_clicks"),
        ] {
            let expected = format!("{name}: is not known here; did you mean {meant}?");
            assert_eq!(sentence(name, &[]), expected);
        }
    }

    #[test]
    fn of_any_other_name_all_that_are_known_are_listed() {
        let listed = "short_code: is not known here; known names are target_url, custom_code, max_clicks, title, tags, to";
        assert_eq!(sentence("short_code", &[]), listed);
        for name in ["q", "tz", "by", "ti", "", "t", "colour"] {
            let sentence = sentence(name, &[]);
            assert!(sentence.contains("known names are "), "{sentence}");
            assert!(KNOWN.iter().all(|known| sentence.contains(known)));
        }
        assert!(sentence("", &[]).starts_with("\"\": is not known here; "));
        let only = unknown_name("q", ["format"].into_iter(), &[]);
        assert_eq!(only, "q: is not known here; the only known name is format");
    }

    #[test]
    fn a_name_that_the_request_has_already_is_not_meant() {
        assert!(sentence("titel", &["titel", "title"]).contains("known names are target_url, "));
        let other = "tages: is not known here; did you mean tags?";
        assert_eq!(sentence("tages", &["title", "tages"]), other);
    }

    proptest! {
        #[test]
        fn any_name_gets_a_sentence_that_begins_with_it(name in ".{1,70}") {
            let begin: String = name.chars().take(64).collect();
            let begin = format!("{begin}: is not known here; ");
            prop_assert!(sentence(&name, &[]).starts_with(&begin));
        }
    }
}
