//! Sentences of refusals, in which a field has the name that the protocol has for it.

/// A sentence that begins with the name of a field of ours, with the protocol's name in its place.
pub(super) fn renamed(sentence: &str, names: &[(&str, &str)]) -> String {
    let said = names.iter().find_map(|(ours, theirs)| {
        let rest = sentence.strip_prefix(ours)?;
        rest.starts_with([':', '[', '.'])
            .then(|| format!("{theirs}{rest}"))
    });
    said.unwrap_or_else(|| sentence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_field_is_changed() {
        let names = [("target_url", "url"), ("title", "name")];
        assert_eq!(renamed("target_url: must be", &names), "url: must be");
        assert_eq!(renamed("title_of: must be", &names), "title_of: must be");
        assert_eq!(renamed("URL not found", &names), "URL not found");
    }
}
