//! Cells that a spreadsheet would take for a formula have an apostrophe before them in this service's own files.

use std::borrow::Cow;

/// Signs that begin a formula, and their other forms: East Asian spreadsheets read the full-width ones, and compatibility
/// normalization (NFKC) turns the rest into these.
const SIGNS: [char; 19] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}', '\u{fe62}',
    '\u{fe63}', '\u{fe6b}', '\u{2212}', '\u{207c}', '\u{207a}', '\u{207b}', '\u{208c}', '\u{208a}',
    '\u{208b}',
];

/// Whether a spreadsheet may skip a character at the start of a cell: white space, controls, and what shows nothing.
fn is_skipped(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                // In place of bytes that are no UTF-8: they may be white space of another encoding.
                | char::REPLACEMENT_CHARACTER
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a spreadsheet would take the cell for a formula; also of a cell with apostrophes before, so that each cell
/// comes back as it was.
fn is_guarded(cell: &str) -> bool {
    let bare = cell.trim_start_matches('\'');
    let shown = cell.trim_start_matches(|character| character == '\'' || is_skipped(character));
    bare.starts_with(['\t', '\r', '\n']) || shown.starts_with(SIGNS)
}

/// The cell, with an apostrophe if it looks like a formula.
#[must_use]
pub fn guarded(cell: &str) -> Cow<'_, str> {
    if is_guarded(cell) {
        format!("'{cell}").into()
    } else {
        cell.into()
    }
}

/// The same of a cell that may not be UTF-8.
#[must_use]
pub fn guarded_bytes(cell: &[u8]) -> Cow<'_, [u8]> {
    if is_guarded(&String::from_utf8_lossy(cell)) {
        [b"'", cell].concat().into()
    } else {
        cell.into()
    }
}

/// The cell as it was before.
#[must_use]
pub fn unguarded(cell: &str) -> &str {
    let bare = cell.strip_prefix('\'');
    bare.filter(|bare| is_guarded(bare)).unwrap_or(cell)
}

/// The same of a cell that may not be UTF-8.
#[must_use]
pub(super) fn unguarded_bytes(cell: &[u8]) -> &[u8] {
    let bare = cell.strip_prefix(b"'");
    bare.filter(|bare| is_guarded(&String::from_utf8_lossy(bare)))
        .unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What stands before a formula's sign, and the sign in every form.
    const BEFORE: &str = "[' \t\r\n\u{b}\u{1}\u{85}\u{a0}\u{ad}\u{2003}\u{200b}\u{200e}\u{2028}\u{2060}\u{3000}\u{feff}]{0,4}";
    const SIGN: &str =
        "[=+@\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}\u{2212}\u{207c}-]";

    #[test]
    fn a_cell_like_a_formula_gets_an_apostrophe() {
        for formula in [
            "=1+1",
            "+49",
            "-1",
            "@SUM(A1)",
            "\tx",
            "\rx",
            "\nx",
            " =1",
            "\u{a0}=1",
            "\u{3000}@a",
            "＝1",
            "＋1",
            "－1",
            "＠a",
            " \u{feff}＝1",
            "\u{200b}=1",
        ] {
            assert_eq!(guarded(formula), format!("'{formula}"));
        }
        for text in [
            "",
            "1+1",
            "'quoted'",
            "https://example.org/=",
            " a=1",
            "(=1)",
            "\u{3000}日本",
            "🎉 =1",
        ] {
            assert_eq!(guarded(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_cell_is_a_formula_to_a_spreadsheet_that_skips_what_shows_nothing((before, sign, rest) in (BEFORE, SIGN, "\\PC{0,5}")) {
            let cell = format!("{before}{sign}{rest}");
            prop_assert_eq!(guarded(&cell), format!("'{cell}"));
        }

        #[test]
        fn every_cell_comes_back_as_it_was((before, sign, rest) in (BEFORE, proptest::option::of(SIGN), "\\PC{0,5}")) {
            let cell = format!("{before}{}{rest}", sign.unwrap_or_default());
            let written = guarded(&cell);
            prop_assert!(!written.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']));
            prop_assert_eq!(unguarded(&written), cell.as_str());
            prop_assert_eq!(&*guarded_bytes(cell.as_bytes()), written.as_bytes());
        }

        #[test]
        fn bytes_that_are_no_text_come_back_as_they_were(cell in "['=@\t -]{0,3}", more in proptest::collection::vec(any::<u8>(), 0..4), is_first: bool) {
            let cell = if is_first { [more, cell.into_bytes()] } else { [cell.into_bytes(), more] }.concat();
            let written = guarded_bytes(&cell);
            prop_assert!(!written.starts_with(b"=") && !written.starts_with(b"\xa0="));
            prop_assert_eq!(unguarded_bytes(&written), &*cell);
        }
    }
}
