//! The part of Redis to which a link belongs.

use super::{LinkId, ShortCode};

/// One of the data sets into which a Redis Cluster is divided; the only one of a single Redis.
///
/// A link's cached form, its changes and its clicks are in the shard of its code. So the acknowledgement of a click tells
/// an instance of changes of that link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// Number of shards of a Redis Cluster: more than a cluster has masters in practice, and few enough for connections to
    /// each. With another number, pending clicks would stay behind in shards that no instance reads.
    pub const IN_CLUSTER: u8 = 16;

    /// The shard of a single Redis.
    pub const ONLY: Self = Self(0);

    /// All of `count` shards.
    pub fn all(count: u8) -> impl Iterator<Item = Self> {
        (0..count).map(Self)
    }

    /// The shard of a code, by FNV-1a over its bytes: the same in all instances and versions.
    #[must_use]
    pub fn of_code(code: &ShortCode, count: u8) -> Self {
        if count <= 1 {
            return Self::ONLY;
        }
        let hash = code.as_str().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        // The upper half: the lowest bits of this hash are distributed worst.
        Self((hash >> 16).to_le_bytes()[0] % count)
    }

    /// The shard to which an epoch belongs; see [`Shard::epoch_prefix`].
    #[must_use]
    pub fn of_epoch(epoch: &str) -> Self {
        let number = epoch
            .split_once(':')
            .and_then(|(shard, _)| shard.parse().ok());
        number.map_or(Self::ONLY, Self)
    }

    /// The first characters of every epoch of this shard of a cluster.
    #[must_use]
    pub fn epoch_prefix(self) -> String {
        format!("{}:", self.0)
    }

    /// Its index in a list of all shards.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A click: its link, and the shard in which it is counted. As small as the link's number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Click(i64);

impl Click {
    /// A click of `link` in `shard`.
    #[must_use]
    pub fn new(link: LinkId, shard: Shard) -> Self {
        Self(link.number() | i64::from(shard.0) << LinkId::BITS)
    }

    /// The link.
    #[must_use]
    pub fn link(self) -> LinkId {
        LinkId::of_click(self.0)
    }

    /// The shard.
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
    fn an_epoch_names_its_shard() {
        for shard in Shard::all(Shard::IN_CLUSTER) {
            let epoch = format!("{}0123456789abcdef-1700000000000000", shard.epoch_prefix());
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
