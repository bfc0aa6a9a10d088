use proptest::prelude::*;

use super::*;

#[test]
fn the_alphabet_has_the_56_letters_of_the_contract() {
    let mut letters = ALPHABET.to_vec();
    letters.sort_unstable();
    letters.dedup();
    assert_eq!(letters.len(), 56);
    assert!(!ALPHABET.iter().any(|letter| b"01OIlo".contains(letter)));
}

proptest! {
    #[test]
    fn a_string_of_the_form_of_a_code_is_kept_as_given(raw in "[A-Za-z0-9_-]{1,64}") {
        let code = ShortCode::parse(&raw).unwrap();
        prop_assert_eq!(code.as_str(), raw);
    }

    #[test]
    fn anything_else_is_no_code(raw in any::<String>()) {
        let shaped = !raw.is_empty() && raw.len() <= 64
            && raw.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        prop_assert_eq!(ShortCode::parse(&raw).is_some(), shaped);
    }
}

proptest! {
    #[test]
    fn a_code_of_a_host_is_kept_as_both(raw in "[A-Za-z0-9_-]{1,64}", number in 0_u32..) {
        let (own, domain) = (ShortCode::parse(&raw).unwrap(), DomainId(number));
        let code = own.at(domain);
        prop_assert_eq!((code.as_str(), code.domain()), (raw.as_str(), domain));
        prop_assert_eq!(code.to_string(), raw);
        prop_assert_eq!(ShortCode::from_key(code.as_key()), Some(code.clone()));
        prop_assert_eq!(code == own, domain.is_own());
        prop_assert_eq!(code.at(DomainId::OWN), own);
    }

    #[test]
    fn any_other_key_is_of_no_code(raw in "[0-9a-z/]{0,9}|\\PC{0,9}") {
        if let Some(code) = ShortCode::from_key(&raw) {
            prop_assert_eq!(ShortCode::from_key(code.as_key()), Some(code.clone()));
            prop_assert_eq!(code.domain().is_own(), !raw.contains('/'));
        }
    }
}

proptest! {
    #[test]
    fn a_custom_code_is_kept_as_given_or_refused(raw in "[A-Za-z0-9_-]{0,70}|.{0,10}") {
        let fits = ShortCode::parse(&raw).is_some();
        match CustomCode::parse(&raw, |word| word == "docs") {
            Ok(code) => prop_assert_eq!(code.as_code().as_str(), raw),
            Err(InvalidCustomCode::Reserved) => prop_assert_eq!(raw, "docs"),
            Err(InvalidCustomCode::Shape) => prop_assert!(!fits),
        }
    }
}

#[test]
fn a_code_of_random_bytes_is_the_same_each_time() {
    assert_eq!(ShortCode::from_random([0; 16]).as_str(), "222222222");
    let code = ShortCode::from_random([7; 16]);
    assert_eq!(code, ShortCode::from_random([7; 16]));
    assert_ne!(code, ShortCode::from_random([8; 16]));
    assert_eq!(ShortCode::parse(code.as_str()), Some(code));
}

#[test]
fn a_generated_code_has_its_length_and_letters_of_the_alphabet_and_parses() {
    for length in (4..=32).cycle().take(1_000) {
        let code = ShortCode::generate(length).unwrap();
        assert_eq!(code.as_str().len(), length);
        assert!(code.as_str().bytes().all(|byte| ALPHABET.contains(&byte)));
        assert_eq!(ShortCode::parse(code.as_str()), Some(code));
    }
}

#[test]
fn a_code_has_one_letter_more_once_more_than_one_in_100_000_codes_is_in_use() {
    for (shortest, in_use, length) in [
        (4, 0, 4),
        (4, 98, 4),
        (4, 99, 5),
        (4, 5_507, 5),
        (4, 5_508, 6),
        (7, 5_508, 7),
        (7, 17_270_948, 7),
        (7, 17_270_949, 8),
        (32, u64::MAX, 32),
        (4, u64::MAX, 14),
    ] {
        assert_eq!(code_length(shortest, in_use), length, "{in_use} codes");
    }
}

proptest! {
    #[test]
    fn more_codes_in_use_never_make_new_ones_shorter(shortest in 4_usize..=32, in_use: u64, more: u32) {
        let length = code_length(shortest, in_use);
        prop_assert!(length >= shortest);
        prop_assert!(code_length(shortest, in_use.saturating_add(more.into())) >= length);
    }
}
