//! A picture for the middle of codes: a PNG, or an SVG, which only codes in SVG can have.

use std::fmt;
use std::io::Cursor;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Largest file: each code in SVG has it.
const MAX_BYTES: usize = 64 * 1024;

/// Most pixels from edge to edge.
const MAX_PIXELS: u32 = 1_024;

/// Why a logo is invalid; its text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLogo {
    /// The file is too large.
    #[error("has more than {MAX_BYTES} bytes")]
    TooLarge,
    /// Neither PNG nor SVG.
    #[error("is neither a PNG nor an SVG file")]
    OtherKind,
    /// A PNG that cannot be decoded.
    #[error("is an invalid PNG: {0}")]
    Png(String),
    /// A PNG with too many pixels.
    #[error("is wider or higher than {MAX_PIXELS} pixels")]
    TooWide,
}

/// A logo; cheap to clone.
#[derive(Clone)]
pub struct Logo(Arc<Picture>);

struct Picture {
    /// The file as an address, for codes in SVG.
    address: String,
    /// Its pixels; an SVG has none.
    pixels: Option<Pixels>,
}

/// Red, green, blue and opacity of each pixel, row by row.
struct Pixels {
    width: usize,
    height: usize,
    rgba: Vec<u8>,
}

impl Logo {
    /// The logo in a file.
    ///
    /// # Errors
    /// [`InvalidLogo`].
    pub fn parse(file: &[u8]) -> Result<Self, InvalidLogo> {
        if file.len() > MAX_BYTES {
            return Err(InvalidLogo::TooLarge);
        }
        let is_svg = || str::from_utf8(file).is_ok_and(|text| text.contains("<svg"));
        let (kind, pixels) = if file.starts_with(b"\x89PNG\r\n\x1a\n") {
            ("image/png", Some(Pixels::decode(file)?))
        } else if is_svg() {
            ("image/svg+xml", None)
        } else {
            return Err(InvalidLogo::OtherKind);
        };
        let address = format!("data:{kind};base64,{}", STANDARD.encode(file));
        Ok(Self(Arc::new(Picture { address, pixels })))
    }

    /// Whether codes in PNG can have it, too.
    #[must_use]
    pub fn has_pixels(&self) -> bool {
        self.0.pixels.is_some()
    }

    /// The file as an address.
    pub(super) fn address(&self) -> &str {
        &self.0.address
    }

    /// A square of pixels with the logo in its middle, row by row; `None` if it has no pixels.
    pub(super) fn scaled(&self, side: usize, background: [u8; 3]) -> Option<Vec<[u8; 3]>> {
        let pixels = self.0.pixels.as_ref()?;
        let longest = pixels.width.max(pixels.height);
        // Pixels of the logo as it is drawn.
        let (width, height) = (
            pixels.width * side / longest,
            pixels.height * side / longest,
        );
        let (left, top) = ((side - width) / 2, (side - height) / 2);
        let mut square = vec![background; side * side];
        for y in 0..height {
            for x in 0..width {
                let rows = part(y, height, pixels.height);
                let columns = part(x, width, pixels.width);
                square[(top + y) * side + left + x] = pixels.mean(rows, columns, background);
            }
        }
        Some(square)
    }
}

/// The pixels of a row of `of` for one of `drawn` pixels; at least one.
fn part(at: usize, drawn: usize, of: usize) -> std::ops::Range<usize> {
    let start = at * of / drawn;
    start..((at + 1) * of / drawn).max(start + 1)
}

impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.has_pixels() { "PNG" } else { "SVG" };
        f.debug_tuple("Logo").field(&kind).finish()
    }
}

impl Pixels {
    fn decode(file: &[u8]) -> Result<Self, InvalidLogo> {
        let failed = |error: png::DecodingError| InvalidLogo::Png(error.to_string());
        let mut decoder = png::Decoder::new(Cursor::new(file));
        decoder.set_transformations(
            png::Transformations::normalize_to_color8() | png::Transformations::ALPHA,
        );
        let header = decoder.read_header_info().map_err(failed)?;
        if header.width.max(header.height) > MAX_PIXELS {
            return Err(InvalidLogo::TooWide);
        }
        let mut reader = decoder.read_info().map_err(failed)?;
        let mut buffer = vec![0; reader.output_buffer_size().unwrap_or_default()];
        let info = reader.next_frame(&mut buffer).map_err(failed)?;
        let pixels = buffer.get(..info.buffer_size()).unwrap_or_default();
        let rgba = match info.color_type {
            png::ColorType::Rgba => pixels.to_vec(),
            png::ColorType::GrayscaleAlpha => {
                let pairs = pixels.chunks_exact(2);
                pairs
                    .flat_map(|pixel| [pixel[0], pixel[0], pixel[0], pixel[1]])
                    .collect()
            }
            other => return Err(InvalidLogo::Png(format!("{other:?}"))),
        };
        Ok(Self {
            width: info.width as usize,
            height: info.height as usize,
            rgba,
        })
    }

    /// The mean of some pixels on a background.
    fn mean(
        &self,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        background: [u8; 3],
    ) -> [u8; 3] {
        let (mut sums, mut count) = ([0_u64; 3], 0_u64);
        for y in rows {
            for x in columns.clone() {
                let at = (y * self.width + x) * 4;
                let Some(&[red, green, blue, opacity]) = self.rgba.get(at..at + 4) else {
                    continue;
                };
                let opacity = u64::from(opacity);
                for ((sum, color), behind) in
                    sums.iter_mut().zip([red, green, blue]).zip(background)
                {
                    *sum += u64::from(color) * opacity + u64::from(behind) * (255 - opacity);
                }
                count += 255;
            }
        }
        sums.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn png(width: u32, height: u32, color: png::ColorType, pixels: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(color);
        encoder
            .write_header()
            .unwrap()
            .write_image_data(pixels)
            .unwrap();
        file
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_logo_or_refused(mut bytes: Vec<u8>, is_png: bool) {
            if is_png {
                bytes.splice(0..0, *b"\x89PNG\r\n\x1a\n");
            }
            let _ = Logo::parse(&bytes);
        }
    }

    #[test]
    fn a_logo_is_scaled_into_a_square_on_the_background() {
        // Black beside nothing: twice as wide as high.
        let wide = png(2, 1, png::ColorType::Rgba, &[0, 0, 0, 255, 9, 9, 9, 0]);
        let wide = Logo::parse(&wide)
            .unwrap()
            .scaled(4, [255, 255, 0])
            .unwrap();
        let (black, ground) = ([0, 0, 0], [255, 255, 0]);
        let row = [black, black, ground, ground];
        assert_eq!(wide[..4], [ground; 4]);
        assert_eq!(wide[4..8], row);
        assert_eq!(wide[8..12], row);
        let grey = png(2, 2, png::ColorType::Grayscale, &[0, 100, 100, 200]);
        let grey = Logo::parse(&grey).unwrap().scaled(1, ground).unwrap();
        assert_eq!(grey, [[100; 3]]);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Logo::parse(b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>").is_ok());
        for (file, refused) in [
            (b"GIF89a".to_vec(), InvalidLogo::OtherKind),
            (vec![b'<'; MAX_BYTES + 1], InvalidLogo::TooLarge),
            (
                png(1_025, 1, png::ColorType::Grayscale, &[0; 1_025]),
                InvalidLogo::TooWide,
            ),
        ] {
            assert_eq!(Logo::parse(&file).unwrap_err(), refused);
        }
        assert!(matches!(
            Logo::parse(b"\x89PNG\r\n\x1a\n"),
            Err(InvalidLogo::Png(_))
        ));
    }
}
