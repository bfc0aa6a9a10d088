//! Which part of Redis a link belongs to.

use super::{LinkId, ShortCode};

/// One of the data sets into which a Redis Cluster is cut; the only one of a single Redis.
///
/// What is cached of a link, its changes and its clicks are in the shard of its code, so that whoever has a
/// click of a link acknowledged learns of that link's changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// How many a Redis Cluster is cut into: more than anybody has masters, few enough that an instance can
    /// have connections to each. Another number would leave clicks behind in shards that nobody asks.
    pub const IN_CLUSTER: u8 = 16;

    /// That of a single Redis.
    pub const ONLY: Self = Self(0);

    /// All of `count` shards.
    pub fn all(count: u8) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// The shard of a code, the same for ever and in all instances: FNV-1a over its bytes.
    #[must_use]
    pub fn of_code(code: &ShortCode, count: u8) -> Self {
        if count <= 1 {
            return Self::ONLY;
        }
        let hash = code.as_str().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        // The upper half: the lowest bits of this hash are its worst.
        Self((hash >> 16).to_le_bytes()[0] % count)
    }

    /// The shard in which an epoch is; see [`Shard::names_epochs`].
    #[must_use]
    pub fn of_epoch(epoch: &str) -> Self {
        let number = epoch
            .split_once(':')
            .and_then(|(shard, _)| shard.parse().ok());
        number.map_or(Self::ONLY, Self)
    }

    /// How the epochs of this shard of a cluster begin.
    #[must_use]
    pub fn names_epochs(self) -> String {
        format!("{}:", self.0)
    }

    /// Its place in a list of all shards.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A link whose click is counted, and the shard in which; as small as the link's number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Click(i64);

impl Click {
    /// A click of `link` in `shard`.
    #[must_use]
    pub fn new(link: LinkId, shard: Shard) -> Self {
        Self(link.number() | i64::from(shard.0) << LinkId::BITS)
    }

    /// Which link.
    #[must_use]
    pub fn link(self) -> LinkId {
        LinkId::of_click(self.0)
    }

    /// In which shard.
    #[must_use]
    pub fn shard(self) -> Shard {
        Shard((self.0 >> LinkId::BITS).to_le_bytes()[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_click_keeps_its_link_and_its_shard(id in 0..=LinkId::LAST.number(), shard in 0..Shard::IN_CLUSTER) {
            let link = LinkId::parse(id).unwrap();
            let click = Click::new(link, Shard(shard));
            prop_assert_eq!((click.link(), click.shard()), (link, Shard(shard)));
        }
    }

    #[test]
    fn an_epoch_tells_its_shard() {
        for shard in Shard::all(Shard::IN_CLUSTER) {
            let epoch = format!("{}0123456789abcdef-1700000000000000", shard.names_epochs());
            assert_eq!(Shard::of_epoch(&epoch), shard);
        }
        assert_eq!(
            Shard::of_epoch("0123456789abcdef-1700000000000000"),
            Shard::ONLY
        );
    }

    #[test]
    fn codes_are_spread_over_all_shards_and_stay_where_they_are() {
        let mut codes = [0; Shard::IN_CLUSTER as usize];
        for number in 0..16_000 {
            let code = ShortCode::parse(&format!("K7m{number:05}")).unwrap();
            codes[Shard::of_code(&code, Shard::IN_CLUSTER).index()] += 1;
        }
        assert!(
            codes.iter().all(|count| (700..1_300).contains(count)),
            "{codes:?}"
        );
        let known = ShortCode::parse("K7mXq2R").unwrap();
        assert_eq!(Shard::of_code(&known, Shard::IN_CLUSTER), Shard(4));
    }
}
