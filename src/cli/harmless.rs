//! Text from elsewhere, without characters that control the terminal or deceive the eye.

use std::borrow::Cow;

use icu_properties::CodePointSetData;
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint};

/// Text from elsewhere, with escapes for characters that could move the cursor, change the colours, hide themselves or
/// change the order in which text is shown.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, |character, to| to.extend(character.escape_unicode()))
}

/// Text with an escape for each such character.
pub(super) fn escaped(text: &str, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_deceptive(character) {
            escape(character, &mut shown);
        } else {
            shown.push(character);
        }
    }
    shown.into()
}

fn is_deceptive(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}')
        || CodePointSetData::new::<BidiControl>().contains(character)
        || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_control_the_terminal() {
        assert_eq!(harmless("https://example.org/ü"), "https://example.org/ü");
        assert_eq!(
            harmless("a\u{1b}[31mb\r\n\u{9b}"),
            "a\\u{1b}[31mb\\u{d}\\u{a}\\u{9b}"
        );
    }
}
