//! QR codes: encoded, drawn as SVG or PNG, or as text for a terminal.
//!
//! Nothing here does input or output. A *module* is one dark or light square of a code.

mod color;
mod image;
mod logo;
mod terminal;

use qrcode2::{Color as Shade, EcLevel};

pub use color::{Color, Colors};
pub use image::{Image, MARGINS, SIZES};
pub use logo::{InvalidLogo, Logo};

/// Why no QR code was drawn; its text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QrError {
    /// The text does not fit.
    #[error("ecc: must be lower, as the short URL is too long for a QR code of this level")]
    TooLong,
    /// There are more modules than pixels.
    #[error(
        "size: must be at least {min} here, one pixel for each module; or choose a smaller margin"
    )]
    TooSmall {
        /// The least size.
        min: u32,
    },
    /// The two colours look alike, or the wrong colour is darker.
    #[error("dark: must be much darker than light for scanners to read it")]
    LowContrast,
    /// The operator's logo is an SVG.
    #[error("format: must be svg with the logo, which has no pixels")]
    LogoWithoutPixels,
    /// The PNG could not be written: a defect.
    #[error("no PNG could be made: {0}")]
    Png(String),
}

/// How much of a code may be dirty or torn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorCorrection {
    /// 7 %.
    L,
    /// 15 %.
    #[default]
    M,
    /// 25 %.
    Q,
    /// 30 %.
    H,
}

impl ErrorCorrection {
    /// Its letter.
    #[must_use]
    pub fn letter(self) -> &'static str {
        match self {
            Self::L => "L",
            Self::M => "M",
            Self::Q => "Q",
            Self::H => "H",
        }
    }

    /// The level of this letter.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        match raw {
            "L" => Some(Self::L),
            "M" => Some(Self::M),
            "Q" => Some(Self::Q),
            "H" => Some(Self::H),
            _ => None,
        }
    }
}

/// A QR code: a square of modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QrCode {
    width: usize,
    /// Whether each module is dark, row by row.
    modules: Vec<bool>,
    /// Modules from edge to edge of the light square in the middle; 0 without a logo.
    hole: usize,
}

impl QrCode {
    /// The smallest code of a text.
    ///
    /// # Errors
    /// [`QrError::TooLong`].
    pub fn encode(text: &str, error_correction: ErrorCorrection) -> Result<Self, QrError> {
        let level = match error_correction {
            ErrorCorrection::L => EcLevel::L,
            ErrorCorrection::M => EcLevel::M,
            ErrorCorrection::Q => EcLevel::Q,
            ErrorCorrection::H => EcLevel::H,
        };
        let code = qrcode2::QrCode::with_error_correction_level(text, level)
            .map_err(|_| QrError::TooLong)?;
        Ok(Self {
            width: code.width(),
            modules: code
                .into_colors()
                .into_iter()
                .map(|shade| shade == Shade::Dark)
                .collect(),
            hole: 0,
        })
    }

    /// The smallest code of a text with room for a logo in its middle: the highest error correction makes up for the modules that
    /// are lost, 7 % of them at most.
    ///
    /// # Errors
    /// [`QrError::TooLong`].
    pub fn encode_around_logo(text: &str) -> Result<Self, QrError> {
        let mut code = Self::encode(text, ErrorCorrection::H)?;
        // As odd as the width, so that it is in the middle.
        let hole = code.width * 26 / 100;
        code.hole = if hole % 2 == code.width % 2 {
            hole
        } else {
            hole - 1
        };
        let start = (code.width - code.hole) / 2;
        for row in code
            .modules
            .chunks_mut(code.width)
            .skip(start)
            .take(code.hole)
        {
            row[start..start + code.hole].fill(false);
        }
        Ok(code)
    }

    /// The modules, row by row.
    fn rows(&self) -> impl Iterator<Item = &[bool]> {
        self.modules.chunks(self.width)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_level_is_one_of_four_letters(raw in "[LMQHlmqh]?|.{0,3}") {
            let level = ErrorCorrection::parse(&raw).map(|level| format!("{level:?}"));
            prop_assert_eq!(level, ["L", "M", "Q", "H"].contains(&raw.as_str()).then_some(raw));
        }
    }

    #[test]
    fn a_code_has_as_many_rows_as_columns() {
        let code = QrCode::encode("https://sho.rt/K7mXq2R", ErrorCorrection::M).unwrap();
        assert_eq!(code.rows().count(), code.width);
        assert!(code.rows().all(|row| row.len() == code.width));
    }

    #[test]
    fn a_text_that_fits_no_code_is_refused() {
        let text = "x".repeat(1_300);
        assert!(QrCode::encode(&text, ErrorCorrection::L).is_ok());
        let refused = QrCode::encode(&text, ErrorCorrection::H);
        assert_eq!(refused, Err(QrError::TooLong));
    }
}
