//! Cells that a spreadsheet would take for formulas: made harmless by an apostrophe, and read back.

use std::borrow::Cow;

/// Whether a spreadsheet would take the cell for a formula; also of a cell with apostrophes before, so that each cell
/// comes back as it was.
fn is_guarded(cell: &str) -> bool {
    let bare = cell.trim_start_matches('\'');
    bare.starts_with(['=', '+', '-', '@', '\t', '\r'])
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

/// The cell as it was before.
#[must_use]
pub fn unguarded(cell: &str) -> &str {
    let bare = cell.strip_prefix('\'');
    bare.filter(|bare| is_guarded(bare)).unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cell_like_a_formula_gets_an_apostrophe() {
        for formula in ["=1+1", "+49", "-1", "@SUM(A1)", "\tx", "\rx"] {
            assert_eq!(guarded(formula), format!("'{formula}"));
        }
        for text in ["", "1+1", "'quoted'", "https://example.org/=", " =1"] {
            assert_eq!(guarded(text), text);
        }
    }

    proptest! {
        #[test]
        fn every_cell_comes_back_as_it_was(cell in "['=+@\t\r-]{0,3}\\PC{0,5}") {
            let written = guarded(&cell);
            prop_assert!(!written.starts_with(['=', '+', '-', '@', '\t', '\r']));
            prop_assert_eq!(unguarded(&written), cell.as_str());
        }
    }
}
