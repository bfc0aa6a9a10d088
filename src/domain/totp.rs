//! One-time passwords by time (RFC 6238): SHA-1, six digits, thirty seconds, which every app for them has.

use ring::hmac;

use super::Timestamp;

/// Seconds of a step.
const STEP: u64 = 30;

/// Steps by which a clock may be wrong, in both directions.
const SKEW: u64 = 1;

/// Digits of a code.
const DIGITS: usize = 6;

/// The letters of base32 (RFC 4648).
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// What the service and the app of an account share; has no `Debug`, as it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; TotpSecret::BYTES]);

/// A code of six digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TotpCode(u32);

impl TotpSecret {
    const BYTES: usize = 20;

    /// Draws a secret from the system's secure random source.
    ///
    /// # Errors
    /// When the system's random source fails.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; Self::BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A secret from the database; `None` if it is invalid.
    #[must_use]
    pub fn from_bytes(stored: &[u8]) -> Option<Self> {
        stored.try_into().ok().map(Self)
    }

    /// The secret as the database keeps it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret as people type it: 32 letters and digits.
    #[must_use]
    pub fn base32(&self) -> String {
        let mut text = String::new();
        for five in self.0.chunks(5) {
            let number = five.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let letters = (0..8).rev().map(|at| (number >> (5 * at) & 31) as usize);
            text.extend(letters.map(|letter| char::from(LETTERS[letter])));
        }
        text
    }

    /// Reads what [`TotpSecret::base32`] writes.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let mut bytes = Vec::new();
        for eight in raw.as_bytes().chunks(8) {
            let mut number: u64 = 0;
            for byte in eight {
                let letter = LETTERS.iter().position(|letter| letter == byte)?;
                number = number << 5 | letter as u64;
            }
            bytes.extend_from_slice(&number.to_be_bytes()[3..]);
        }
        (raw.len() == 32)
            .then(|| Self::from_bytes(&bytes))
            .flatten()
    }

    /// What an app reads in a QR code.
    #[must_use]
    pub fn uri(&self, service: &str, account: &str) -> String {
        let encoded = |text: &str| {
            url::form_urlencoded::byte_serialize(text.as_bytes())
                .collect::<String>()
                .replace('+', "%20")
        };
        let (service, account) = (encoded(service), encoded(account));
        let secret = self.base32();
        format!("otpauth://totp/{service}:{account}?secret={secret}&issuer={service}")
    }

    /// The step of which this is the code: about now, and after the step `last`, whose code was used.
    #[must_use]
    pub fn step_of(&self, code: TotpCode, now: Timestamp, last: i64) -> Option<i64> {
        let current = now.unix_seconds() / STEP;
        let steps = current.saturating_sub(SKEW)..=current + SKEW;
        let mut steps = steps.filter(|step| self.code(*step) == code);
        steps.find_map(|step| step.try_into().ok().filter(|step| *step > last))
    }

    /// The code of a moment.
    #[must_use]
    pub fn code_at(&self, moment: Timestamp) -> TotpCode {
        self.code(moment.unix_seconds() / STEP)
    }

    fn code(&self, step: u64) -> TotpCode {
        TotpCode(self.number(step) % 1_000_000)
    }

    /// RFC 4226, 5.3.
    fn number(&self, step: u64) -> u32 {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let mark = hmac::sign(&key, &step.to_be_bytes());
        let mark = mark.as_ref();
        let at = mark.last().map_or(0, |last| usize::from(last & 15));
        let four = mark.iter().skip(at).take(4);
        four.fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) & 0x7fff_ffff
    }
}

impl TotpCode {
    /// A code as apps show it, without spaces.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let is_shaped = raw.len() == DIGITS && raw.bytes().all(|byte| byte.is_ascii_digit());
        raw.parse().ok().filter(|_| is_shaped).map(Self)
    }
}

/// Six digits.
impl std::fmt::Display for TotpCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:06}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn moment(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000).unwrap()
    }

    #[test]
    fn the_codes_are_those_of_the_rfc() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890").unwrap();
        assert_eq!(secret.base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        for (seconds, eight_digits) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            let number = secret.number(seconds / STEP);
            assert_eq!(number % 100_000_000, eight_digits, "{seconds}");
            let code = secret.code_at(moment(seconds.try_into().unwrap()));
            assert_eq!(code.to_string(), format!("{:06}", eight_digits % 1_000_000));
        }
    }

    #[test]
    fn a_code_holds_for_one_step_around_its_own_and_only_once() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890").unwrap();
        let now = moment(1_234_567_890);
        let step = 1_234_567_890 / 30;
        let code = secret.code_at(now);
        for (later, is_taken) in [
            (-60, false),
            (-30, true),
            (0, true),
            (30, true),
            (60, false),
        ] {
            let taken = secret.step_of(code, moment(1_234_567_890 + later), 0);
            assert_eq!(taken, is_taken.then_some(step), "{later}");
        }
        assert_eq!(secret.step_of(code, now, step - 1), Some(step));
        assert_eq!(secret.step_of(code, now, step), None);
        let earlier = secret.code_at(now.before(Duration::from_secs(30)));
        assert_eq!(secret.step_of(earlier, now, step), None, "an older step");
    }

    #[test]
    fn an_app_reads_the_address_of_a_secret() {
        let secret = TotpSecret::from_bytes(b"12345678901234567890").unwrap();
        assert_eq!(
            secret.uri("Short & sweet", "ada+x@example.org"),
            "otpauth://totp/Short%20%26%20sweet:ada%2Bx%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Short%20%26%20sweet"
        );
    }

    proptest! {
        #[test]
        fn any_secret_is_read_as_it_was_written(bytes in any::<[u8; 20]>()) {
            let secret = TotpSecret::from_bytes(&bytes).unwrap();
            let read = TotpSecret::parse(&secret.base32());
            prop_assert!(read.is_some_and(|read| read == secret));
        }

        #[test]
        fn any_text_is_a_secret_read_unchanged_or_none(raw in prop_oneof!["\\PC*", "[A-Z2-7]{30,34}"]) {
            let is_shaped = raw.len() == 32 && raw.bytes().all(|byte| LETTERS.contains(&byte));
            let read = TotpSecret::parse(&raw);
            prop_assert_eq!(read.is_some(), is_shaped);
            prop_assert!(read.is_none_or(|read| read.base32() == raw));
        }

        #[test]
        fn any_text_is_six_digits_or_no_code(raw in prop_oneof!["\\PC*", "[0-9]{5,7}"]) {
            let is_shaped = raw.len() == 6 && raw.bytes().all(|byte| byte.is_ascii_digit());
            let read = TotpCode::parse(&raw);
            prop_assert_eq!(read.is_some(), is_shaped);
            prop_assert!(read.is_none_or(|read| read.to_string() == raw));
        }
    }
}
