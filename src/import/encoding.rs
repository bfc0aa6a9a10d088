//! Which characters the bytes of a file stand for: spreadsheets save tables in UTF-8, UTF-16 and Windows-1252.

use std::io::{self, Read};

/// Bytes that are read at once.
const PART: usize = 16 * 1024;
/// No byte of UTF-8: it stands for what cannot be decoded, so that its row is refused.
const NOT_UTF_8: u8 = 0xff;
/// The characters of Windows-1252 from 0x80 to 0x9f. Every other byte is the character with its number.
const OF_WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// How the characters of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, perhaps with bytes that are not.
    Utf8,
    /// UTF-16, the low byte of each unit first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// Windows-1252, which older spreadsheets write.
    Windows1252,
}

impl Encoding {
    /// The text of a file, whatever its encoding; `None`: some of it cannot be decoded.
    #[must_use]
    pub fn text_of(file: &[u8]) -> Option<String> {
        let mut bytes = Vec::with_capacity(file.len());
        // Reading from memory does not fail.
        let encoding = Self::of(&mut &*file).unwrap_or(Self::Utf8);
        Decoded::new(file, encoding).read_to_end(&mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    }

    /// The encoding of an input. It is read up to the first byte that decides, or to its end.
    ///
    /// # Errors
    /// Those of the input.
    pub fn of(input: &mut impl Read) -> io::Result<Self> {
        let mut part = vec![0; PART];
        let mut length = fill(input, &mut part)?;
        if let Some(encoding) = of_start(&part[..length]) {
            return Ok(encoding);
        }
        let mut guess = Guess::default();
        let mut kept = 0;
        loop {
            let is_end = length < part.len() - kept;
            let bytes = &part[..kept + length];
            let Some(rest) = guess.add(bytes, is_end) else {
                return Ok(Self::Utf8);
            };
            if is_end {
                return Ok(guess.encoding());
            }
            // The beginning of a character whose end comes with the next part.
            let begin = bytes.len() - rest;
            part.copy_within(begin.., 0);
            kept = rest;
            length = fill(input, &mut part[kept..])?;
        }
    }
}

fn fill(input: &mut impl Read, part: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < part.len() {
        match input.read(&mut part[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// What a byte order mark says, or the zeros beside the first letters.
fn of_start(start: &[u8]) -> Option<Encoding> {
    match start {
        [0xef, 0xbb, 0xbf, ..] => Some(Encoding::Utf8),
        [0xff, 0xfe, ..] => Some(Encoding::Utf16Le),
        [0xfe, 0xff, ..] => Some(Encoding::Utf16Be),
        [one, 0, other, 0, ..] if *one > 0 && *other > 0 => Some(Encoding::Utf16Le),
        [0, one, 0, other, ..] if *one > 0 && *other > 0 => Some(Encoding::Utf16Be),
        _ => None,
    }
}

/// What bytes without such a sign are: one character of UTF-8 beyond ASCII decides for it.
#[derive(Default)]
struct Guess {
    has_other: bool,
    is_implausible: bool,
    /// The byte before.
    before: u8,
}

impl Guess {
    /// Adds bytes. Returns how many of them at the end are the beginning of a character; `None`: the bytes are UTF-8.
    fn add(&mut self, bytes: &[u8], is_end: bool) -> Option<usize> {
        let mut rest = bytes;
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) if text.is_ascii() => {
                    self.before = rest.last().copied().unwrap_or(self.before);
                    return Some(0);
                }
                Ok(_) => return None,
                Err(error) => error,
            };
            let (valid, invalid) = rest.split_at(error.valid_up_to());
            if !valid.is_ascii() {
                return None;
            }
            self.before = valid.last().copied().unwrap_or(self.before);
            let length = match error.error_len() {
                Some(length) => length,
                None if is_end => invalid.len(),
                None => return Some(invalid.len()),
            };
            for (at, byte) in invalid[..length].iter().enumerate() {
                self.add_other(*byte, invalid.get(at + 1).copied());
            }
            rest = &invalid[length..];
        }
    }

    fn add_other(&mut self, byte: u8, next: Option<u8>) {
        self.has_other = true;
        let is_likely = match byte {
            0x81 | 0x8d | 0x8f | 0x90 | 0x9d | 0xd7 | 0xf7 => false,
            // A letter that is rare, and a byte that says often that something is no text.
            0xff => {
                self.before.is_ascii_alphabetic()
                    && next.is_some_and(|next| next.is_ascii_alphabetic())
            }
            _ => true,
        };
        self.is_implausible |= !is_likely;
        self.before = byte;
    }

    fn encoding(&self) -> Encoding {
        if self.has_other && !self.is_implausible {
            Encoding::Windows1252
        } else {
            Encoding::Utf8
        }
    }
}

/// The bytes of a text in UTF-8, without a byte order mark.
pub(super) struct Decoded<R> {
    input: R,
    encoding: Encoding,
    /// Nothing was read yet.
    is_new: bool,
    is_ended: bool,
    /// What is read and not decoded; at first half a character of the part before.
    bytes: Vec<u8>,
    text: Vec<u8>,
    taken: usize,
}

impl<R: Read> Decoded<R> {
    /// Of an input from its start.
    pub(super) fn new(input: R, encoding: Encoding) -> Self {
        Self {
            input,
            encoding,
            is_new: true,
            is_ended: false,
            bytes: Vec::new(),
            text: Vec::new(),
            taken: 0,
        }
    }

    fn decode_next(&mut self) -> io::Result<()> {
        self.text.clear();
        self.taken = 0;
        let kept = self.bytes.len();
        self.bytes.resize(kept + PART, 0);
        let length = fill(&mut self.input, &mut self.bytes[kept..])?;
        self.is_ended = length < PART;
        self.bytes.truncate(kept + length);
        match self.encoding {
            Encoding::Utf8 => self.text.append(&mut self.bytes),
            Encoding::Utf16Le => self.decode_utf_16(u16::from_le_bytes),
            Encoding::Utf16Be => self.decode_utf_16(u16::from_be_bytes),
            Encoding::Windows1252 => {
                let bytes = self.bytes.drain(..);
                let chars = bytes.map(|byte| match byte {
                    0x80..=0x9f => OF_WINDOWS_1252[usize::from(byte - 0x80)],
                    _ => char::from(byte),
                });
                self.text.extend(chars.collect::<String>().into_bytes());
            }
        }
        let mark = "\u{feff}".as_bytes();
        if std::mem::take(&mut self.is_new) && self.text.starts_with(mark) {
            self.taken = mark.len();
        }
        Ok(())
    }

    fn decode_utf_16(&mut self, unit_of: fn([u8; 2]) -> u16) {
        let mut units: Vec<_> = self
            .bytes
            .chunks_exact(2)
            .map(|pair| unit_of([pair[0], pair[1]]))
            .collect();
        // The second half of the last character may come with the next part.
        units.pop_if(|last| !self.is_ended && matches!(last, 0xd800..0xdc00));
        self.bytes.drain(..2 * units.len());
        for decoded in char::decode_utf16(units) {
            match decoded {
                Ok(char) => {
                    let mut bytes = [0; 4];
                    let bytes = char.encode_utf8(&mut bytes).as_bytes();
                    self.text.extend_from_slice(bytes);
                }
                Err(_) => self.text.push(NOT_UTF_8),
            }
        }
        if self.is_ended && !self.bytes.is_empty() {
            self.text.push(NOT_UTF_8);
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() && !self.is_ended {
            self.decode_next()?;
        }
        let rest = &self.text[self.taken..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.taken += length;
        Ok(length)
    }
}

/// The name of an encoding that a person may have to know of.
impl std::fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Windows1252 => "Windows-1252",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> (Encoding, Vec<u8>) {
        let encoding = Encoding::of(&mut &*bytes).unwrap();
        let mut text = Vec::new();
        Decoded::new(bytes, encoding)
            .read_to_end(&mut text)
            .unwrap();
        (encoding, text)
    }

    fn utf_16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes_of).collect()
    }

    #[test]
    fn encodings_are_told_apart() {
        for (bytes, encoding, text) in [
            (&b"a,b\n"[..], Encoding::Utf8, &b"a,b\n"[..]),
            (b"\xef\xbb\xbfa", Encoding::Utf8, b"a"),
            ("Müll".as_bytes(), Encoding::Utf8, "Müll".as_bytes()),
            (
                b"M\xfcll \x80 caf\xe9",
                Encoding::Windows1252,
                "Müll € café".as_bytes(),
            ),
            // One row that is no UTF-8 makes no other encoding of those that are.
            (
                b"M\xc3\xbcll\ncaf\xe9",
                Encoding::Utf8,
                b"M\xc3\xbcll\ncaf\xe9",
            ),
            (
                b"caf\xe9\nM\xc3\xbcll",
                Encoding::Utf8,
                b"caf\xe9\nM\xc3\xbcll",
            ),
            (b"\xef\xbb\xbfcaf\xe9", Encoding::Utf8, b"caf\xe9"),
            (b"bad \xff\xfe", Encoding::Utf8, b"bad \xff\xfe"),
            (b"bad \x81", Encoding::Utf8, b"bad \x81"),
        ] {
            assert_eq!(read(bytes), (encoding, text.to_vec()), "{bytes:?}");
        }
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}id,Müll €\n");
            let kept = "id,Müll €\n".as_bytes().to_vec();
            let low_first = read(&utf_16(&text, u16::to_le_bytes));
            assert_eq!(low_first, (Encoding::Utf16Le, kept.clone()));
            let high_first = read(&utf_16(&text, u16::to_be_bytes));
            assert_eq!(high_first, (Encoding::Utf16Be, kept));
        }
    }

    #[test]
    fn quotes_and_dashes_of_windows_1252_are_read() {
        let (encoding, text) = read(b"\x93\x8cuvre\x94 \x96 \x85 \x9e");
        assert_eq!(encoding, Encoding::Windows1252);
        assert_eq!(text, "“Œuvre” – … ž".as_bytes());
    }

    #[test]
    fn half_a_character_of_utf_16_is_no_text() {
        let (_, text) = read(b"\xff\xfea\0\x00\xd8b\0c");
        assert_eq!(text, b"a\xffb\xff");
    }

    proptest! {
        #[test]
        fn every_text_is_read_in_each_encoding(begin in "[a-z]{2}", text in "\\PC{0,9}", filler in 0..3_usize) {
            // Longer than one part, so that characters stand at its end.
            let text = format!("{begin}{}{}", "x".repeat(filler + PART - 6), text.repeat(9));
            prop_assert_eq!(read(text.as_bytes()), (Encoding::Utf8, text.clone().into_bytes()));
            let (encoding, decoded) = read(&utf_16(&text, u16::to_le_bytes));
            prop_assert_eq!((encoding, decoded), (Encoding::Utf16Le, text.into_bytes()));
        }
    }
}
