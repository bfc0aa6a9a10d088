//! Checks statements, without a service.

use super::document::Statement;
use crate::domain::{NotCanonical, StatementPublicKey};

/// Why a file is no statement of the service that has the keys.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotVerified {
    /// It is no statement.
    #[error("this is no statement: {0}")]
    Malformed(String),
    /// It has a number that no statement has.
    #[error("this is no statement: {0}")]
    NotCanonical(#[from] NotCanonical),
    /// None of the keys has this name.
    #[error("the key that signed it, {0}, is not among the keys")]
    UnknownKey(String),
    /// It is not what was signed.
    #[error("the signature is wrong: the statement was changed after it was signed")]
    Signature,
    /// A sum is not that of its days.
    #[error("a sum is not that of its days")]
    Sum,
}

/// A statement that one of the keys signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The statement.
    pub statement: Statement,
    /// Its digest, as the statement of the next month has it.
    pub digest: String,
}

/// Checks that one of these keys signed a statement, and that its sums are those of its days. How its JSON is written does not matter.
///
/// # Errors
/// [`NotVerified`].
pub fn verify(document: &[u8], keys: &[StatementPublicKey]) -> Result<Verified, NotVerified> {
    let statement: Statement = serde_json::from_slice(document)
        .map_err(|error| NotVerified::Malformed(error.to_string()))?;
    let named = keys.iter().find(|key| key.id() == statement.key_id);
    let key = named.ok_or_else(|| NotVerified::UnknownKey(statement.key_id.clone()))?;
    if !statement.is_signed_by(*key)? {
        return Err(NotVerified::Signature);
    }
    let days = statement.days.iter();
    let clicks = days.clone().map(|day| u128::from(day.clicks)).sum::<u128>();
    let people: Option<u128> = days.map(|day| day.people.map(u128::from)).sum();
    if clicks != statement.clicks.into() || people != statement.people.map(u128::from) {
        return Err(NotVerified::Sum);
    }
    let digest = statement.digest()?;
    Ok(Verified { statement, digest })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Month, SeriesRange, StatementKey, Tally, Zone};
    use crate::statements::document::Facts;
    use crate::statements::{StatementKeySet, keys_in};

    fn key() -> StatementKey {
        StatementKey::parse(&StatementKey::generate().unwrap()).unwrap()
    }

    /// Signed by the key; each day has as many clicks as its number, one of them by a bot.
    fn statement(key: &StatementKey, knows_bots: bool) -> String {
        let month = Month::parse("2026-10").unwrap();
        let days = SeriesRange::days_of(month, &Zone::parse("Europe/Berlin").unwrap()).unwrap();
        let points = (1_u64..).zip(days.starts());
        let points = points.map(|(clicks, at)| (*at, Tally { clicks, bots: 1 }));
        let facts = Facts {
            short_code: "spring",
            domain: None,
            month,
            points: points.collect(),
            days: &days,
            knows_bots,
            previous: None,
            issued_at: "2026-11-01T00:00:00Z".parse().unwrap(),
        };
        facts.signed(key).unwrap()
    }

    #[test]
    fn a_statement_is_verified_however_its_json_is_written() {
        let key = key();
        for knows_bots in [true, false] {
            let text = statement(&key, knows_bots);
            let value: Value = serde_json::from_str(&text).unwrap();
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            for text in [&text, &pretty] {
                let verified = verify(text.as_bytes(), &[key.public()]).unwrap();
                assert_eq!(verified.statement.clicks, 31 * 32 / 2);
                assert_eq!(verified.statement.people, knows_bots.then_some(31 * 30 / 2));
                assert_eq!(
                    verified.digest,
                    crate::domain::sha256_of(&statement_text(&value))
                );
            }
        }
    }

    fn statement_text(value: &Value) -> String {
        crate::domain::canonical_json(value).unwrap()
    }

    #[test]
    fn a_statement_of_which_anything_was_changed_is_refused() {
        let key = key();
        let whole: Value = serde_json::from_str(&statement(&key, true)).unwrap();
        for name in whole.as_object().unwrap().keys() {
            let mut changed = whole.clone();
            changed[name] = match &whole[name] {
                Value::Number(number) => json!(number.as_u64().unwrap() + 1),
                Value::Array(days) => json!(days[1..]),
                _ => json!("x"),
            };
            let refused = verify(changed.to_string().as_bytes(), &[key.public()]);
            let expected = match name.as_str() {
                "key_id" => NotVerified::UnknownKey("x".to_owned()),
                _ => NotVerified::Signature,
            };
            assert_eq!(refused, Err(expected), "{name}");
        }
    }

    #[test]
    fn a_field_that_no_statement_has_or_that_comes_twice_is_refused() {
        let (key, text) = (key(), statement(&key(), true));
        for added in [r#"{"note":"x","#, r#"{"clicks":1,"#] {
            let text = text.replacen('{', added, 1);
            let refused = verify(text.as_bytes(), &[key.public()]);
            assert!(
                matches!(refused, Err(NotVerified::Malformed(_))),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_statement_of_another_key_is_refused_by_the_name_of_its_key() {
        let (key, other) = (key(), key());
        let text = statement(&key, true);
        let refused = verify(text.as_bytes(), &[other.public()]);
        assert_eq!(refused, Err(NotVerified::UnknownKey(key.public().id())));
    }

    #[test]
    fn a_key_set_has_its_keys_and_no_others() {
        let keys = [key().public(), key().public()];
        let set = serde_json::to_value(StatementKeySet::new(&keys)).unwrap();
        assert_eq!(keys_in(set.to_string().as_bytes()).unwrap(), keys);
        let mut with_others = set.clone();
        let others = with_others["keys"].as_array_mut().unwrap();
        others.push(json!({"kty": "RSA", "n": "AQAB", "e": "AQAB"}));
        others.push(json!({"kty": "OKP", "crv": "Ed25519", "x": "short"}));
        assert_eq!(keys_in(with_others.to_string().as_bytes()).unwrap(), keys);
        assert_eq!(keys_in(b"[]"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_a_statement(text in "\\PC{0,200}") {
            prop_assert!(verify(text.as_bytes(), &[key().public()]).is_err());
            let _ = keys_in(text.as_bytes());
        }
    }
}
