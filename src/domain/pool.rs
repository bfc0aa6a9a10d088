//! Pools: lists of targets, of which each counted visitor of a link gets the next one.

use super::{InvalidTarget, OwnHost, TargetUrl};

/// Identifier of a pool; a pool that is emptied gets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolId(i64);

impl PoolId {
    /// The id with this number; `None` if it is below 0.
    #[must_use]
    pub fn parse(number: i64) -> Option<Self> {
        (number >= 0).then_some(Self(number))
    }

    /// Its number, as databases keep it.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }
}

/// Targets for a pool, in their order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolTargets {
    targets: Vec<TargetUrl>,
    /// The line of each, counted from 1.
    lines: Vec<usize>,
}

/// Why a text is no list of targets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPool {
    /// It is not text.
    #[error("body: must be text in UTF-8, with a target in each line")]
    Encoding,
    /// It has no target.
    #[error("body: must have a target in each line")]
    Empty,
    /// It has too many targets.
    #[error("body: must have at most {} targets", PoolTargets::MAX)]
    TooMany,
    /// The target in this line is invalid. Lines are counted from 1.
    #[error("line {0}: {1}")]
    Line(usize, InvalidTarget),
}

impl PoolTargets {
    /// Targets that a pool may have in all, including the targets that were given out.
    pub const MAX: usize = 100_000;

    /// Reads a target from each line of a text; empty lines are passed over.
    ///
    /// # Errors
    /// [`InvalidPool`].
    pub fn parse(text: &[u8], own: &OwnHost) -> Result<Self, InvalidPool> {
        let text = std::str::from_utf8(text).map_err(|_| InvalidPool::Encoding)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (mut targets, mut lines) = (Vec::new(), Vec::new());
        for (place, line) in text.lines().enumerate() {
            let line = line.trim_matches([' ', '\t']);
            if line.is_empty() {
                continue;
            }
            if targets.len() == Self::MAX {
                return Err(InvalidPool::TooMany);
            }
            let target = TargetUrl::parse(line, own);
            targets.push(target.map_err(|why| InvalidPool::Line(place + 1, why))?);
            lines.push(place + 1);
        }
        if targets.is_empty() {
            return Err(InvalidPool::Empty);
        }
        Ok(Self { targets, lines })
    }

    /// The targets.
    #[must_use]
    pub fn as_slice(&self) -> &[TargetUrl] {
        &self.targets
    }

    /// The line of the target at this place, counted from 1.
    #[must_use]
    pub fn line(&self, place: usize) -> usize {
        self.lines.get(place).copied().unwrap_or_default()
    }

    /// The bytes of the targets.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.targets
            .iter()
            .map(|target| target.as_str().len() as u64)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Vec<String>, String> {
        let own = OwnHost::unknown();
        let parsed = PoolTargets::parse(text.as_bytes(), &own);
        let texts = |pool: PoolTargets| {
            pool.targets
                .iter()
                .map(|one| one.as_str().to_owned())
                .collect()
        };
        parsed.map(texts).map_err(|why| why.to_string())
    }

    #[test]
    fn each_line_is_a_target_in_the_order_of_the_lines() {
        let expected = Ok(vec![
            "https://b.example/".to_owned(),
            "https://a.example/?x=1".to_owned(),
        ]);
        assert_eq!(
            parse("\u{feff}https://b.example/\r\n\r\n  https://a.example/?x=1\n"),
            expected
        );
    }

    #[test]
    fn an_invalid_line_is_named() {
        let why = parse("https://a.example/\n\nftp://b.example/\n").unwrap_err();
        assert!(why.starts_with("line 3: must be an absolute http"), "{why}");
        assert_eq!(parse(" \n").unwrap_err(), InvalidPool::Empty.to_string());
        assert_eq!(
            PoolTargets::parse(b"\xff", &OwnHost::unknown()),
            Err(InvalidPool::Encoding)
        );
        let many = "https://a.example/\n".repeat(PoolTargets::MAX + 1);
        assert_eq!(
            parse(&many).unwrap_err(),
            "body: must have at most 100000 targets"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<Vec<u8>>()) {
            if let Ok(pool) = PoolTargets::parse(&text, &OwnHost::unknown()) {
                prop_assert!(!pool.as_slice().is_empty());
            }
        }
    }
}
