//! JSON in the one form that signatures and digests are of (RFC 8785).

use serde_json::Value;

/// The largest whole number that every reader of JSON has exactly: 2^53 - 1.
pub const MAX_EXACT: u64 = (1 << 53) - 1;

/// A number that has no canonical form here: it is not whole, or beyond [`MAX_EXACT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only whole numbers up to 2^53 - 1 have a canonical form here")]
pub struct NotCanonical;

/// The canonical form of a value: no space between its parts, the names of each object in the order of their UTF-16 code units. Of
/// numbers, only whole ones are written: documents of this service have no others.
///
/// # Errors
/// [`NotCanonical`].
pub fn canonical_json(value: &Value) -> Result<String, NotCanonical> {
    let mut text = String::new();
    write(value, &mut text)?;
    Ok(text)
}

fn write(value: &Value, to: &mut String) -> Result<(), NotCanonical> {
    match value {
        Value::Number(number) => {
            let whole = number.as_i64().ok_or(NotCanonical)?;
            if whole.unsigned_abs() > MAX_EXACT {
                return Err(NotCanonical);
            }
            to.push_str(&whole.to_string());
        }
        Value::Array(items) => {
            to.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    to.push(',');
                }
                write(item, to)?;
            }
            to.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            to.push('{');
            for (place, (name, field)) in fields.into_iter().enumerate() {
                if place > 0 {
                    to.push(',');
                }
                to.push_str(&Value::from(name.as_str()).to_string());
                to.push(':');
                write(field, to)?;
            }
            to.push('}');
        }
        // serde_json escapes what the standard says, in the same way.
        Value::Null | Value::Bool(_) | Value::String(_) => to.push_str(&value.to_string()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> Result<String, NotCanonical> {
        canonical_json(&serde_json::from_str(text).unwrap())
    }

    /// RFC 8785, 3.2.2, without its numbers.
    #[test]
    fn strings_and_literals_are_written_as_in_the_standard() {
        let given = r#"{
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
        assert_eq!(canonical(given).unwrap(), expected);
    }

    /// RFC 8785, 3.2.3.
    #[test]
    fn names_are_in_the_order_of_the_standard() {
        let given = r#"{
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"
        }"#;
        let written = canonical(given).unwrap();
        let names = [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ];
        let places = names.map(|name| written.find(name).unwrap());
        assert!(places.is_sorted(), "{written}");
        assert!(written.starts_with("{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":"));
    }

    #[test]
    fn every_control_character_is_escaped_as_in_the_standard() {
        let text: String = (0..0x20_u8).map(char::from).chain(['\u{7f}']).collect();
        let expected = "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\
            \\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f\u{7f}\"";
        assert_eq!(canonical_json(&Value::from(text)).unwrap(), expected);
    }

    #[test]
    fn only_whole_numbers_that_every_reader_has_exactly_are_written() {
        for number in ["0", "1", "-1", "9007199254740991", "-9007199254740991"] {
            assert_eq!(canonical(number).unwrap(), number);
        }
        for number in [
            "9007199254740992",
            "18446744073709551615",
            "1.5",
            "1.0",
            "1e3",
            "-0",
        ] {
            assert_eq!(canonical(number), Err(NotCanonical), "{number}");
        }
    }

    proptest! {
        #[test]
        fn a_value_comes_back_from_its_canonical_form(names in proptest::collection::vec("\\PC{0,6}", 0..6), text in any::<String>(), number in 0..=MAX_EXACT) {
            let mut fields: serde_json::Map<String, Value> = names.iter().map(|name| (name.clone(), Value::from(number))).collect();
            fields.insert("text".to_owned(), Value::from(text));
            let value = Value::Object(fields);
            let written = canonical_json(&value).unwrap();
            let read: Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(&read, &value);
            prop_assert_eq!(canonical_json(&read).unwrap(), written);
        }
    }
}
