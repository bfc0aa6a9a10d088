//! Request ids: the id that a request brings, or a new id; each is in the response and in the log.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use compact_str::CompactString;

/// The header that carries it, both ways.
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that is accepted.
const MAX_BYTES: usize = 128;

/// The id of a request: one word of visible ASCII, at most 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Given(CompactString),
    Made([u8; 16]),
}

impl RequestId {
    /// The id that a client or a proxy sent; `None` if it would not be a single word in a log.
    #[must_use]
    pub fn parse(raw: &[u8]) -> Option<Self> {
        let fits =
            !raw.is_empty() && raw.len() <= MAX_BYTES && raw.iter().all(u8::is_ascii_graphic);
        fits.then(|| std::str::from_utf8(raw).ok())
            .flatten()
            .map(|text| Self(Form::Given(text.into())))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("visible ASCII is text")
    }

    /// The id as a response has it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Given(text) => text.as_bytes(),
            Form::Made(digits) => digits,
        }
    }
}

impl From<&RequestId> for HeaderValue {
    fn from(id: &RequestId) -> Self {
        Self::from_bytes(id.as_bytes()).expect("visible ASCII is a header's value")
    }
}

/// Each byte as two digits.
const HEXADECIMAL: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let (mut pairs, mut byte) = ([[0; 2]; 256], 0);
    while byte < pairs.len() {
        pairs[byte] = [digits[byte / 16], digits[byte % 16]];
        byte += 1;
    }
    pairs
};

/// Generates ids for requests that come without: 16 hexadecimal digits.
pub struct RequestIds {
    next: AtomicU64,
}

impl RequestIds {
    /// An odd number, so that the sequence has all 2^64 ids.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// Begins at a random number: the sequences of two instances are unlikely to meet.
    ///
    /// # Errors
    /// The system's random source fails.
    pub fn new() -> Result<Self, getrandom::Error> {
        let next = AtomicU64::new(getrandom::u64()?);
        Ok(Self { next })
    }

    /// The id in the headers of a request, or a new one.
    pub fn of(&self, headers: &HeaderMap) -> RequestId {
        headers
            .get(X_REQUEST_ID)
            .and_then(|raw| RequestId::parse(raw.as_bytes()))
            .unwrap_or_else(|| self.make())
    }

    /// A new id.
    pub fn make(&self) -> RequestId {
        let number = self.next.fetch_add(Self::STEP, Ordering::Relaxed);
        let mut digits = [0; 16];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
            pair.copy_from_slice(&HEXADECIMAL[usize::from(byte)]);
        }
        RequestId(Form::Made(digits))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn new_ids_differ() {
        let ids = RequestIds::new().unwrap();
        let (one, other) = (ids.make(), ids.make());
        assert_ne!(one, other);
        assert_eq!(one.as_str().len(), 16);
        assert_eq!(
            RequestId::parse(one.as_bytes()).unwrap().as_str(),
            one.as_str()
        );
    }

    proptest! {
        #[test]
        fn an_accepted_id_is_one_word_and_stays_as_it_is(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(id) = RequestId::parse(&raw) {
                prop_assert_eq!(id.as_str().as_bytes(), &raw[..]);
                prop_assert!(id.as_str().split_whitespace().eq([id.as_str()]));
                let header = HeaderValue::from(&id);
                prop_assert_eq!(header.as_bytes(), &raw[..]);
            }
        }
    }
}
