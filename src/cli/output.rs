//! Output for people: colours on terminals only.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::Failure;
use super::harmless::escaped;
pub(super) use super::harmless::harmless;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_with_its_escapes() {
        let text = "\u{202e}a\u{e0001}\u{7f}\"\n\u{fe0f}";
        let written = json(&text).map_err(|_| ()).unwrap();
        assert_eq!(written, r#""\u202ea\udb40\udc01\u007f\"\n\ufe0f""#);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
