//! What an address may not carry as it is, percent-encoded: browsers do it, other clients may not, and hyper
//! would refuse the request with nobody asked.

use std::borrow::Cow;

use percent_encoding::percent_encode_byte;

/// A request's first bytes, its target as a browser would have sent it.
pub(in crate::server) fn encoded(received: &[u8]) -> Cow<'_, [u8]> {
    let Some((method, target)) = target(received) else {
        return received.into();
    };
    if target.iter().copied().all(may_stay) {
        return received.into();
    }
    let mut mended = received[..method].to_vec();
    for byte in target {
        if may_stay(*byte) {
            mended.push(*byte);
        } else {
            mended.extend_from_slice(percent_encode_byte(*byte).as_bytes());
        }
    }
    mended.extend_from_slice(&received[method + target.len()..]);
    mended.into()
}

/// Where the target begins, and the target, if all of its line is there.
fn target(received: &[u8]) -> Option<(usize, &[u8])> {
    let line = received.split(|byte| *byte == b'\n').next()?;
    if line.len() == received.len() {
        return None;
    }
    let begin = line.iter().position(|byte| *byte == b' ')? + 1;
    let length = line[begin..].iter().position(|byte| *byte == b' ')?;
    Some((begin, &line[begin..begin + length]))
}

fn may_stay(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'<' | b'>' | b'`')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_may_not_carry_is_encoded_and_nothing_else_is_touched() {
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
