//! Values by which clicks are filtered: the values that a visitor class may have.

use super::referrer;
use crate::domain::agent_words::{BROWSERS, DEVICES, SYSTEMS};
use crate::domain::{ClickClass, Dimension, Filter, ShortCode};

/// No class has such a value; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: must be {}", .0.as_str(), form(*.0))]
pub struct InvalidFilter(Dimension);

/// The form of a value, with an example.
fn form(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Referrer => "the host of a page, such as referrer=example.com",
        Dimension::Country => "the two letters of a country, such as country=DE",
        Dimension::Browser => "a browser that a row of by=browser has, such as browser=Firefox",
        Dimension::Os => "a system that a row of by=os has, such as os=Android",
        Dimension::Device => "desktop, phone, tablet, tv or console, such as device=phone",
        Dimension::Rule => "the name or the number of a rule, such as rule=2 or rule=spring/1",
        Dimension::Code => "1 to 64 of the characters A-Z a-z 0-9 - _, such as code=spring",
        Dimension::Bot => "true or false, such as bot=false",
    }
}

/// The value by which clicks are filtered; an empty text selects clicks whose value is unknown.
///
/// # Errors
/// [`InvalidFilter`] if no class has such a value.
pub fn filter(dimension: Dimension, raw: &str) -> Result<Filter, InvalidFilter> {
    if raw.is_empty() {
        return Ok((dimension, None));
    }
    let value = match dimension {
        Dimension::Country => raw.to_ascii_uppercase(),
        Dimension::Referrer => referrer::kept_of(raw).ok_or(InvalidFilter(dimension))?,
        _ => raw.to_owned(),
    };
    let is_value = match dimension {
        Dimension::Referrer => true,
        Dimension::Country => {
            value.len() == 2 && value.bytes().all(|byte| byte.is_ascii_uppercase())
        }
        Dimension::Browser => BROWSERS.contains(&&*value),
        Dimension::Os => SYSTEMS.contains(&&*value),
        Dimension::Device => DEVICES.contains(&&*value),
        Dimension::Rule => !value.chars().any(char::is_control),
        Dimension::Code => ShortCode::parse(&value).is_some(),
        Dimension::Bot => ["true", "false"].contains(&&*value),
    };
    if is_value && value.len() <= ClickClass::MAX_VALUE {
        Ok((dimension, Some(value)))
    } else {
        Err(InvalidFilter(dimension))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_filter_is_a_value_or_for_those_of_which_it_is_not_known() {
        for (dimension, raw, value) in [
            (Dimension::Referrer, "example.com", "example.com"),
            (Dimension::Referrer, "EXAMPLE.com", "example.com"),
            (Dimension::Referrer, "www.example.com", "example.com"),
            (Dimension::Referrer, "News.Example.CO.UK.", "example.co.uk"),
            (
                Dimension::Referrer,
                "BÜCHER.example",
                "xn--bcher-kva.example",
            ),
            (
                Dimension::Referrer,
                "com.google.android.gm",
                "com.google.android.gm",
            ),
            (Dimension::Referrer, "other", "other"),
            (Dimension::Country, "de", "DE"),
            (Dimension::Browser, "Samsung Internet", "Samsung Internet"),
            (Dimension::Os, "iOS", "iOS"),
            (Dimension::Device, "tv", "tv"),
            (Dimension::Rule, "spring/1", "spring/1"),
            (Dimension::Code, "spring", "spring"),
            (Dimension::Bot, "true", "true"),
        ] {
            let expected = Ok((dimension, Some(value.to_owned())));
            assert_eq!(filter(dimension, raw), expected);
        }
        for dimension in Dimension::ALL {
            assert_eq!(filter(dimension, ""), Ok((dimension, None)));
        }
    }

    #[test]
    fn what_no_class_has_is_refused_with_an_example() {
        let long = format!("{}.example", "a".repeat(ClickClass::MAX_VALUE));
        for (dimension, raw, example) in [
            (
                Dimension::Referrer,
                "https://example.com/",
                "referrer=example.com",
            ),
            (Dimension::Referrer, "no host", "referrer=example.com"),
            (Dimension::Referrer, &long, "referrer=example.com"),
            (Dimension::Country, "Germany", "country=DE"),
            (Dimension::Country, "D1", "country=DE"),
            (Dimension::Browser, "firefox/145", "browser=Firefox"),
            (Dimension::Os, "CP/M", "os=Android"),
            (Dimension::Device, "fridge", "device=phone"),
            (Dimension::Rule, "spring\n", "rule=spring/1"),
            (Dimension::Code, "a/b", "code=spring"),
            (Dimension::Bot, "yes", "bot=false"),
        ] {
            let refused = filter(dimension, raw).unwrap_err().to_string();
            let begin = format!("{}: must be ", dimension.as_str());
            assert!(refused.starts_with(&begin), "{refused}");
            assert!(refused.ends_with(example), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_refused(raw in ".{0,300}", dimension in 0..Dimension::COUNT) {
            let dimension = Dimension::ALL[dimension];
            if let Ok((_, Some(value))) = filter(dimension, &raw) {
                let class = ClickClass::unknown().with(dimension, Some(&value));
                prop_assert_eq!(class.value(dimension), Some(&*value));
            }
        }
    }
}
