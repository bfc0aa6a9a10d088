//! Output for people: colours on terminals only, and no characters from elsewhere that control the terminal or deceive
//! the eye.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use icu_properties::CodePointSetData;
use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint};
use serde::Serialize;

use super::Failure;

/// Heads of columns.
pub(super) const HEAD: Style = Style::new().bold();
/// Codes and links, which people copy.
pub(super) const HANDLE: Style = AnsiColor::Cyan.on_default();
/// Secondary text.
pub(super) const ASIDE: Style = Style::new().dimmed();

/// Standard output; styles reach only a terminal, and not where `NO_COLOR` is set.
pub(super) fn stdout() -> impl Write {
    anstream::stdout().lock()
}

/// Something that a person should know, on standard error.
pub(super) fn note(text: &str) {
    // Without a standard error the work still goes on.
    let _ = writeln!(io::stderr(), "shunt: {}", harmless(text));
}

/// One value for machines, on a line of its own.
pub(super) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = json(value)?;
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// One value for machines. People read it, too: what would deceive them is escaped, which means the same to a machine.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::of(&error))?;
    let escaped = escaped(&text, |character, to| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(to, "\\u{unit:04x}");
        }
    });
    Ok(escaped.into_owned())
}

/// Text from elsewhere, with escapes for characters that could move the cursor, change the colours, hide themselves or
/// change the order in which text is shown.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, |character, to| to.extend(character.escape_unicode()))
}

fn escaped(text: &str, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
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

    #[test]
    fn json_means_the_same_with_its_escapes() {
        let text = "\u{202e}a\u{e0001}\u{7f}\"\n\u{fe0f}";
        let written = json(&text).map_err(|_| ()).unwrap();
        assert_eq!(written, r#""\u202ea\udb40\udc01\u007f\"\n\ufe0f""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
