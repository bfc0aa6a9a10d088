//! The revision of a link: by it a client says which state it has seen.

use std::fmt;

use ring::digest::{Context, SHA256};

use crate::domain::{Link, LinkProperties, MaxClicks, Tags, Timestamp, Title};

/// A digest of everything that an owner may change, and of a removal. Clicks are not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision(String);

impl Revision {
    /// The revision of a link as it is.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        let mut digest = Context::new(&SHA256);
        digest.update(&link.id.number().to_le_bytes());
        digest.update(&canonical(&link.properties));
        if let Some(status) = link.removed {
            digest.update(&status.code().to_le_bytes());
        }
        let digest = digest.finish();
        let number = digest.as_ref().first_chunk().copied();
        Self(format!(
            "{:032x}",
            u128::from_be_bytes(number.unwrap_or_default())
        ))
    }

    /// Its text, of hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// All properties as bytes that are the same only for equal properties: no field contains a zero byte.
pub(super) fn canonical(properties: &LinkProperties) -> Vec<u8> {
    let LinkProperties {
        target,
        is_active,
        title,
        tags,
        expires_at,
        max_clicks,
        forward_query,
    } = properties;
    let title = title.as_ref().map_or("", Title::as_str);
    let end = expires_at.map(Timestamp::micros);
    let max = max_clicks.map(MaxClicks::number);
    let tags = Tags::to_string(tags);
    let target = target.as_str();
    format!("{target}\0{is_active}\0{title}\0{tags}\0{end:?}\0{max:?}\0{forward_query}").into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::TargetUrl;

    fn properties() -> impl Strategy<Value = LinkProperties> {
        let texts = ("[a-z]{1,3}", "[a-c]{0,2}", "[a-c,]{0,4}");
        let rest = (
            any::<bool>(),
            proptest::option::of(0..3_i64),
            0..3_u64,
            any::<bool>(),
        );
        (texts, rest).prop_map(
            |((target, title, tags), (is_active, end, max, forward_query))| LinkProperties {
                target: TargetUrl::from_stored(&format!("https://{target}.example/")),
                is_active,
                title: Title::parse(&title).unwrap(),
                tags: Tags::parse_list(&tags).unwrap(),
                expires_at: end.and_then(Timestamp::from_micros),
                max_clicks: MaxClicks::parse(max).ok(),
                forward_query,
            },
        )
    }

    proptest! {
        #[test]
        fn properties_differ_exactly_where_their_bytes_do(one in properties(), other in properties()) {
            prop_assert_eq!(one == other, canonical(&one) == canonical(&other));
        }
    }
}
