//! A code as an image: SVG or PNG.

use std::fmt::Write;
use std::io;
use std::ops::RangeInclusive;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

use super::{Colors, Logo, QrCode, QrError};

/// Widths of an image, in pixels.
pub const SIZES: RangeInclusive<u32> = 64..=2_048;

/// Widths of the margin, in modules.
pub const MARGINS: RangeInclusive<u32> = 0..=16;

/// An image of a code, exactly as wide as asked for. A module has a whole number of pixels, so that its edges are sharp;
/// pixels that are left over widen the margin.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    code: &'a QrCode,
    /// In the middle of the code, which has room for it.
    logo: Option<&'a Logo>,
    colors: Colors,
    /// Pixels from edge to edge.
    size: u32,
    /// Pixels of a module.
    scale: u32,
    /// Pixels left of the code and above it.
    offset: u32,
}

impl<'a> Image<'a> {
    /// An image of `size` pixels, with at least `margin` light modules around the code.
    ///
    /// # Errors
    /// [`QrError::TooSmall`].
    pub fn new(code: &'a QrCode, size: u32, margin: u32, colors: Colors) -> Result<Self, QrError> {
        // A code has at most 177 modules in a row.
        let modules = u32::try_from(code.width).unwrap_or(u32::MAX);
        let min = modules.saturating_add(margin.saturating_mul(2));
        let scale = size / min;
        if scale == 0 {
            return Err(QrError::TooSmall { min });
        }
        Ok(Self {
            code,
            logo: None,
            colors,
            size,
            scale,
            offset: (size - modules * scale) / 2,
        })
    }

    /// The same with a logo in the room that the code has for it.
    #[must_use]
    pub fn with_logo(mut self, logo: &'a Logo) -> Self {
        self.logo = Some(logo);
        self
    }

    /// Pixels from the edge of the image to the logo, which has half a module of space around it, and from edge to edge of the logo.
    fn place_of_logo(&self) -> (u32, u32) {
        let hole = u32::try_from(self.code.hole).unwrap_or_default() * self.scale;
        let modules = u32::try_from(self.code.width).unwrap_or_default() * self.scale;
        let space = self.scale / 2;
        let side = hole.saturating_sub(2 * space);
        (self.offset + (modules - hole) / 2 + space, side)
    }

    /// The image as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let Self {
            size,
            scale,
            offset,
            ..
        } = self;
        let (dark, light) = (self.colors.dark(), self.colors.light());
        let path = self.path();
        let logo = self.logo.map_or_else(String::new, |logo| {
            let (at, side) = self.place_of_logo();
            let address = logo.address();
            format!("<image x=\"{at}\" y=\"{at}\" width=\"{side}\" height=\"{side}\" href=\"{address}\"/>")
        });
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"{size}\" viewBox=\"0 0 {size} {size}\" \
             shape-rendering=\"crispEdges\"><rect width=\"{size}\" height=\"{size}\" fill=\"#{light}\"/>\
             <path transform=\"translate({offset} {offset}) scale({scale})\" fill=\"#{dark}\" d=\"{path}\"/>{logo}</svg>\n"
        )
    }

    /// A rectangle for each run of dark modules in a row.
    fn path(&self) -> String {
        let mut path = String::new();
        for (y, row) in self.code.rows().enumerate() {
            let mut x = 0;
            for run in row.chunk_by(|one, next| one == next) {
                let width = run.len();
                if run[0] {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "M{x} {y}h{width}v1h-{width}z");
                }
                x += width;
            }
        }
        path
    }

    /// The image as PNG: with one bit for each pixel, or with three bytes if it has a logo.
    ///
    /// # Errors
    /// [`QrError::LogoWithoutPixels`], [`QrError::Png`].
    pub fn png(&self) -> Result<Vec<u8>, QrError> {
        let written = match self.logo {
            None => self.write_png(),
            Some(logo) => {
                let (_, side) = self.place_of_logo();
                let logo = logo.scaled(side as usize, self.colors.light().rgb());
                self.write_colored_png(&logo.ok_or(QrError::LogoWithoutPixels)?)
            }
        };
        written.map_err(|error| QrError::Png(error.to_string()))
    }

    /// One row is in memory at a time.
    fn write_colored_png(&self, logo: &[[u8; 3]]) -> io::Result<Vec<u8>> {
        const DIFFERENCE: u8 = 2;
        let width = self.size as usize;
        let (start, edge) = self.place_of_logo();
        let (start, edge) = (start as usize, edge as usize);
        let (dark, light) = (self.colors.dark().rgb(), self.colors.light().rgb());
        let mut rows = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut above = vec![0; width * 3];
        for (y, bits) in self.pixels().chunks(width.div_ceil(8)).enumerate() {
            let is_dark = |x: usize| bits[x / 8] & (0x80 >> (x % 8)) != 0;
            let mut row: Vec<[u8; 3]> = (0..width)
                .map(|x| if is_dark(x) { dark } else { light })
                .collect();
            let of_logo = y.checked_sub(start).and_then(|y| logo.chunks(edge).nth(y));
            if let Some(of_logo) = of_logo {
                row[start..start + edge].copy_from_slice(of_logo);
            }
            let row = row.concat();
            let difference = row.iter().zip(&above);
            let difference: Vec<u8> = difference
                .map(|(pixel, above): (&u8, &u8)| pixel.wrapping_sub(*above))
                .collect();
            io::Write::write_all(&mut rows, &[DIFFERENCE])?;
            io::Write::write_all(&mut rows, &difference)?;
            above = row;
        }
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let size = self.size.to_be_bytes();
        // Three bytes for each pixel.
        add_chunk(
            &mut png,
            *b"IHDR",
            &[&size[..], &size, &[8, 2, 0, 0, 0]].concat(),
        );
        add_chunk(&mut png, *b"IDAT", &rows.finish()?);
        add_chunk(&mut png, *b"IEND", &[]);
        Ok(png)
    }

    fn write_png(&self) -> io::Result<Vec<u8>> {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        let size = self.size.to_be_bytes();
        // One bit for each pixel: a number of the palette.
        add_chunk(
            &mut png,
            *b"IHDR",
            &[&size[..], &size, &[1, 3, 0, 0, 0]].concat(),
        );
        let palette = [self.colors.light().rgb(), self.colors.dark().rgb()].concat();
        add_chunk(&mut png, *b"PLTE", &palette);
        add_chunk(&mut png, *b"IDAT", &self.compressed()?);
        add_chunk(&mut png, *b"IEND", &[]);
        Ok(png)
    }

    /// Each row as its difference from the row above, which is mostly none: so an image has a few kilobytes.
    fn compressed(&self) -> io::Result<Vec<u8>> {
        const DIFFERENCE: u8 = 2;
        let bytes = (self.size as usize).div_ceil(8);
        let mut rows = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut above = vec![0; bytes];
        for row in self.pixels().chunks(bytes) {
            io::Write::write_all(&mut rows, &[DIFFERENCE])?;
            let difference = row.iter().zip(&above);
            let difference: Vec<_> = difference
                .map(|(pixels, above)| pixels.wrapping_sub(*above))
                .collect();
            io::Write::write_all(&mut rows, &difference)?;
            above.copy_from_slice(row);
        }
        rows.finish()
    }

    /// The pixels from top to bottom, eight in a byte; 1 is dark.
    fn pixels(&self) -> Vec<u8> {
        let (size, scale, offset) = (
            self.size as usize,
            self.scale as usize,
            self.offset as usize,
        );
        let bytes = size.div_ceil(8);
        let mut pixels = vec![0; bytes * size];
        for (y, row) in self.code.rows().enumerate() {
            let mut line = vec![0; bytes];
            for (x, _) in row.iter().enumerate().filter(|(_, is_dark)| **is_dark) {
                for pixel in (offset + x * scale)..(offset + (x + 1) * scale) {
                    line[pixel / 8] |= 0x80 >> (pixel % 8);
                }
            }
            let top = (offset + y * scale) * bytes;
            for copy in pixels[top..top + scale * bytes].chunks_mut(bytes) {
                copy.copy_from_slice(&line);
            }
        }
        pixels
    }
}

/// A part of a PNG: its length, its name, its data, and the check of both.
fn add_chunk(png: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    // An image has at most 2,048 rows of 257 bytes.
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut check = Crc::new();
    check.update(&name);
    check.update(data);
    png.extend_from_slice(&length.to_be_bytes());
    png.extend_from_slice(&name);
    png.extend_from_slice(data);
    png.extend_from_slice(&check.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::qr::{Color, ErrorCorrection};

    fn code() -> QrCode {
        QrCode::encode("https://sho.rt/K7mXq2R", ErrorCorrection::M).unwrap()
    }

    /// Width, height, and whether each pixel is dark, as another program reads them.
    fn decoded(png: &[u8]) -> (u32, u32, Vec<bool>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let dark = pixels.chunks(3).map(|rgb| rgb == [0, 0, 0]).collect();
        (info.width, info.height, dark)
    }

    proptest! {
        // Each case looks at every pixel.
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn an_image_has_its_size_a_margin_and_sharp_modules(size in prop_oneof![9 => 64..=250_u32, 1 => SIZES], margin in MARGINS) {
            let code = code();
            let modules = u32::try_from(code.width).unwrap();
            let image = match Image::new(&code, size, margin, Colors::default()) {
                Ok(image) => image,
                Err(error) => {
                    let min = modules + 2 * margin;
                    prop_assert!(size < min);
                    prop_assert_eq!(error, QrError::TooSmall { min });
                    return Ok(());
                }
            };
            let (width, height, dark) = decoded(&image.png().unwrap());
            prop_assert_eq!((width, height), (size, size));
            let scale = size / (modules + 2 * margin);
            let left = (size - modules * scale) / 2;
            prop_assert!(left >= margin * scale);
            for (at, is_dark) in (0..).zip(dark) {
                let (x, y) = (at % size, at / size);
                let module = |at: u32| at.checked_sub(left).map(|at| at / scale).filter(|at| *at < modules);
                let expected = match (module(x), module(y)) {
                    (Some(x), Some(y)) => code.modules[(y * modules + x) as usize],
                    _ => false,
                };
                prop_assert_eq!(is_dark, expected, "pixel {} {}", x, y);
            }
        }
    }

    #[test]
    fn an_svg_has_the_size_and_the_colors_asked_for() {
        let colors = Colors::new(
            Color::parse("1A237E").unwrap(),
            Color::parse("fffde7").unwrap(),
        );
        let code = code();
        let svg = Image::new(&code, 300, 4, colors.unwrap()).unwrap().svg();
        for part in [
            "width=\"300\" height=\"300\"",
            "viewBox=\"0 0 300 300\"",
            "fill=\"#fffde7\"",
            "fill=\"#1a237e\"",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn a_size_of_one_pixel_for_each_module_is_the_least() {
        let code = code();
        let min = u32::try_from(code.width).unwrap() + 32;
        let small = |size| Image::new(&code, size, 16, Colors::default()).map(|image| image.scale);
        assert_eq!(small(min - 1), Err(QrError::TooSmall { min }));
        assert_eq!(small(min), Ok(1));
    }
}
