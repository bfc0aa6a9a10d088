//! A code as text for a terminal: a character is two modules, one above the other.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::QrCode;

/// Light modules around the code.
const MARGIN: usize = 4;

impl QrCode {
    /// The code in half blocks, with a margin and a newline after each line.
    #[must_use]
    pub fn for_terminal(&self) -> String {
        // Light modules are white blocks on black: a dark terminal without colours shows the code, too.
        let style = AnsiColor::BrightWhite.on(AnsiColor::Black);
        let width = self.width + 2 * MARGIN;
        let mut text = String::new();
        for y in (0..width).step_by(2) {
            let blocks = (0..width).map(|x| match (self.is_light(x, y), self.is_light(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
            let line: String = blocks.collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{style}{line}{style:#}");
        }
        text
    }

    /// Whether a module is light, counted from the edge of the margin.
    fn is_light(&self, x: usize, y: usize) -> bool {
        let module = |at: usize| at.checked_sub(MARGIN).filter(|at| *at < self.width);
        match (module(x), module(y)) {
            (Some(x), Some(y)) => !self.modules[y * self.width + x],
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qr::ErrorCorrection;

    #[test]
    fn half_blocks_show_every_module_and_the_margin() {
        let code = QrCode::encode("https://sho.rt/K7mXq2R", ErrorCorrection::L).unwrap();
        let text = code.for_terminal();
        let plain = anstream::adapter::strip_str(&text).to_string();
        let mut rows = Vec::new();
        for line in plain.lines() {
            let row = |light: [char; 2]| {
                line.chars()
                    .map(|block| !light.contains(&block))
                    .collect::<Vec<_>>()
            };
            rows.extend([row(['█', '▀']), row(['█', '▄'])]);
        }
        let width = code.width + 2 * MARGIN;
        assert!(rows.iter().all(|row| row.len() == width));
        let inner: Vec<bool> = rows[MARGIN..MARGIN + code.width]
            .iter()
            .flat_map(|row| row[MARGIN..MARGIN + code.width].to_vec())
            .collect();
        assert_eq!(inner, code.modules);
        let dark = |modules: &[bool]| modules.iter().filter(|is_dark| **is_dark).count();
        assert_eq!(
            rows.iter().map(|row| dark(row)).sum::<usize>(),
            dark(&code.modules)
        );
    }
}
