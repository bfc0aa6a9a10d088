//! The two colours of a code, and whether a scanner can tell one from the other.

use std::fmt;

use super::QrError;

/// Least difference of the two reflectances. ISO/IEC 15415 calls it the symbol contrast: 40 % is its grade C, the least that
/// common rules for printed codes accept.
const MIN_CONTRAST: f64 = 0.4;

/// A colour of sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Color([u8; 3]);

impl Color {
    /// Black.
    pub const BLACK: Self = Self([0; 3]);
    /// White.
    pub const WHITE: Self = Self([255; 3]);

    /// The colour of six hexadecimal digits, RRGGBB.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let is_shaped = raw.len() == 6 && raw.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_shaped.then(|| u32::from_str_radix(raw, 16).ok())??;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self([red, green, blue]))
    }

    pub(super) fn rgb(self) -> [u8; 3] {
        self.0
    }

    /// The part of white light that it reflects: the relative luminance of sRGB.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "{red:02x}{green:02x}{blue:02x}")
    }
}

/// The colours of a code: scanners can read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colors {
    dark: Color,
    light: Color,
}

impl Colors {
    /// Checks the contrast. Many scanners cannot read a code whose modules are lighter than its background.
    ///
    /// # Errors
    /// [`QrError::LowContrast`].
    pub fn new(dark: Color, light: Color) -> Result<Self, QrError> {
        if light.luminance() - dark.luminance() < MIN_CONTRAST {
            return Err(QrError::LowContrast);
        }
        Ok(Self { dark, light })
    }

    pub(super) fn dark(self) -> Color {
        self.dark
    }

    pub(super) fn light(self) -> Color {
        self.light
    }
}

impl Default for Colors {
    /// Black on white.
    fn default() -> Self {
        Self {
            dark: Color::BLACK,
            light: Color::WHITE,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn color(raw: &str) -> Color {
        Color::parse(raw).unwrap()
    }

    proptest! {
        #[test]
        fn six_hexadecimal_digits_are_that_color(raw in "[0-9a-fA-F]{6}") {
            prop_assert_eq!(color(&raw).to_string(), raw.to_lowercase());
        }

        #[test]
        fn anything_else_is_no_color(raw in "#?[0-9a-gA-G+-]{0,8}|.{0,8}") {
            let shaped = raw.len() == 6 && raw.chars().all(|digit| digit.is_ascii_hexdigit());
            prop_assert_eq!(Color::parse(&raw).is_some(), shaped);
        }

        #[test]
        fn of_two_colors_only_one_order_is_accepted(one in any::<[u8; 3]>(), other in any::<[u8; 3]>()) {
            let (one, other) = (Color(one), Color(other));
            prop_assert!(Colors::new(one, other).is_err() || Colors::new(other, one).is_err());
        }
    }

    #[test]
    fn colors_that_look_alike_are_refused() {
        for (dark, light) in [
            ("ffffff", "ffffff"),
            ("ffff00", "ffffff"),
            ("00ff00", "ffffff"),
            ("000000", "808080"),
            ("ffffff", "000000"),
        ] {
            let refused = Colors::new(color(dark), color(light));
            assert_eq!(refused, Err(QrError::LowContrast), "{dark} on {light}");
        }
    }

    #[test]
    fn colors_that_scanners_can_tell_apart_are_accepted() {
        for (dark, light) in [
            ("000000", "ffffff"),
            ("1a237e", "ffffff"),
            ("c62828", "fffde7"),
            ("808080", "ffffff"),
            ("000000", "ffff00"),
        ] {
            let accepted = Colors::new(color(dark), color(light));
            assert!(accepted.is_ok(), "{dark} on {light}");
        }
    }
}
