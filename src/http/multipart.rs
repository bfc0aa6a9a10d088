//! The parts of a body of `multipart/form-data`: each a name and bytes.

/// Why a body is refused.
const BROKEN: &str = "the parts of the body must be as multipart/form-data has them";

/// Whether a `Content-Type` says that a body has parts.
#[must_use]
pub fn is_multipart(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// The parts of a body, in their order.
///
/// # Errors
/// A sentence.
pub fn parts<'a>(
    content_type: &str,
    body: &'a [u8],
) -> Result<Vec<(String, &'a [u8])>, &'static str> {
    let boundary = boundary(content_type).ok_or("the boundary of the parts is missing")?;
    let delimiter = format!("\r\n--{boundary}");
    // The first boundary has no line before it.
    let mut rest = match body.strip_prefix(&delimiter.as_bytes()[2..]) {
        Some(rest) => rest,
        None => after(body, &delimiter).ok_or(BROKEN)?.1,
    };
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let blanks = rest.iter().take_while(|byte| b" \t".contains(byte));
        let part = rest[blanks.count()..].strip_prefix(b"\r\n").ok_or(BROKEN)?;
        let (part, others) = after(part, &delimiter).ok_or(BROKEN)?;
        let (head, value) = after(part, "\r\n\r\n").ok_or(BROKEN)?;
        let head = std::str::from_utf8(head).map_err(|_| BROKEN)?;
        let name = head.split("\r\n").find_map(name_of_part).ok_or(BROKEN)?;
        parts.push((name, value));
        rest = others;
    }
}

/// What is before and after a text that begins with a carriage return and has no other before its last two characters.
fn after<'a>(bytes: &'a [u8], text: &str) -> Option<(&'a [u8], &'a [u8])> {
    let mut starts = (0..bytes.len()).filter(|at| bytes[*at] == b'\r');
    let start = starts.find(|at| bytes[*at..].starts_with(text.as_bytes()))?;
    Some((&bytes[..start], &bytes[start + text.len()..]))
}

/// RFC 2046: 1 to 70 characters.
fn boundary(content_type: &str) -> Option<String> {
    let mut parameters = content_type.split(';').skip(1);
    let boundary = parameters.find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then_some(value)
    })?;
    let boundary = boundary.trim_matches('"');
    let fits =
        (1..=70).contains(&boundary.len()) && boundary.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| boundary.to_owned())
}

/// The name in `Content-Disposition: form-data; name="…"`.
fn name_of_part(line: &str) -> Option<String> {
    let (header, value) = line.split_once(':')?;
    if !header.trim().eq_ignore_ascii_case("content-disposition") {
        return None;
    }
    let mut parameters = value.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        let is_name = name.eq_ignore_ascii_case("name");
        is_name.then(|| value.trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const KIND: &str = "multipart/form-data; boundary=\"b-1\"";

    fn body(values: &[Vec<u8>]) -> Vec<u8> {
        let mut body = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let head = format!(
                "--b-1\r\nContent-Disposition: form-data; name=\"field{at}\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n"
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(value);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"--b-1--\r\n");
        body
    }

    #[test]
    fn what_has_other_parts_is_refused() {
        assert!(is_multipart(KIND) && is_multipart("Multipart/Form-Data ;boundary=b"));
        assert!(!is_multipart("application/x-www-form-urlencoded"));
        let whole = body(&[b"x".to_vec()]);
        assert_eq!(
            parts("multipart/form-data", &whole),
            Err("the boundary of the parts is missing")
        );
        for end in 0..whole.len() - 4 {
            assert_eq!(parts(KIND, &whole[..end]), Err(BROKEN), "{end}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_of_a_part_comes_back(values in vec(vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), any::<u8>()], 0..40), 0..4)) {
            let body = body(&values);
            let read = parts(KIND, &body).unwrap();
            let names: Vec<_> = (0..values.len()).map(|at| format!("field{at}")).collect();
            prop_assert_eq!(read.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
            prop_assert_eq!(read.into_iter().map(|(_, value)| value.to_vec()).collect::<Vec<_>>(), values);
        }

        #[test]
        fn no_body_causes_a_panic(body in vec(prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'-'), Just(b'b'), any::<u8>()], 0..80)) {
            let _ = parts("multipart/form-data; boundary=b", &body);
        }
    }
}
