//! Output for people: colours on terminals only, and no control characters from elsewhere.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
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

/// One value for machines, on a line of its own.
pub(super) fn json_line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::of(&error))?;
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Text from elsewhere without control characters: they could move the cursor or change the colours.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        text.replace(char::is_control, "\u{fffd}").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_elsewhere_cannot_control_the_terminal() {
        assert_eq!(harmless("https://example.org/ü"), "https://example.org/ü");
        assert_eq!(
            harmless("a\u{1b}[31mb\r\n"),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}"
        );
    }
}
