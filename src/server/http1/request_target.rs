//! Percent-encodes the bytes that a request's target may not have. Browsers do so; other clients may not, and hyper
//! would refuse their requests before the service sees them.

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;

/// The first bytes of a request, with its target as a browser would have sent it.
pub(super) fn encoded(received: &[u8]) -> Cow<'_, [u8]> {
    let Some((method, target)) = target(received) else {
        return received.into();
    };
    if target.iter().copied().all(is_allowed) {
        return received.into();
    }
    let mut encoded = received[..method].to_vec();
    for byte in target {
        if is_allowed(*byte) {
            encoded.push(*byte);
        } else {
            encoded.extend_from_slice(percent_encode_byte(*byte).as_bytes());
        }
    }
    encoded.extend_from_slice(&received[method + target.len()..]);
    encoded.into()
}

/// The start of the target, and the target, once the whole request line has arrived.
fn target(received: &[u8]) -> Option<(usize, &[u8])> {
    let line = received.split(|byte| *byte == b'\n').next()?;
    if line.len() == received.len() {
        return None;
    }
    let start = line.iter().position(|byte| *byte == b' ')? + 1;
    let length = line[start..].iter().position(|byte| *byte == b' ')?;
    Some((start, &line[start..start + length]))
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'<' | b'>' | b'`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_target_may_not_have_are_encoded_and_no_others() {
        for (received, expected) in [
            (
                &b"GET /<x>`?q=<\xff> HTTP/1.1\r\nX: <y>\r\n\r\n"[..],
                &b"GET /%3Cx%3E%60?q=%3C%FF%3E HTTP/1.1\r\nX: <y>\r\n\r\n"[..],
            ),
            (b"GET /\xc3\xa4 HTTP/1.1\r\n", b"GET /%C3%A4 HTTP/1.1\r\n"),
            (b"GET /a%3C HTTP/1.1\r\n\r\n", b"GET /a%3C HTTP/1.1\r\n\r\n"),
            (b"GET /<x", b"GET /<x"),
            (b"GET\r\n<\r\n", b"GET\r\n<\r\n"),
            (b"", b""),
        ] {
            assert_eq!(*encoded(received), *expected);
        }
    }
}
