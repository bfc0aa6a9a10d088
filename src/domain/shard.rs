//! The part of Redis to which a link belongs.

use super::{LinkId, ShortCode, UserId};

/// One of the data sets into which a Redis Cluster is divided; a single Redis has one shard.
///
/// A link's cached form, its changes and its clicks are in the shard of its code. So the acknowledgement of a click tells
/// an instance of changes of that link. The cached form by an alias is in the shard of the alias, its clicks are in that of the link's
/// own code, and its changes are in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// The greatest number of shards.
    pub const MAX_COUNT: u16 = 256;

    /// The shard of a single Redis.
    pub const ONLY: Self = Self(0);

    /// All of `count` shards.
    pub fn all(count: u16) -> impl Iterator<Item = Self> {
        (0..=u8::MAX).take(usize::from(count)).map(Self)
    }

    /// The shard of a code: the same in all instances with the same number of shards.
    #[must_use]
    pub fn of_code(code: &ShortCode, count: u16) -> Self {
        // FNV-1a over the bytes.
        let mut hash = code.as_key().bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        // The last steps of MurmurHash3: every bit of the hash then depends on every byte.
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        // A remainder would favour some shards unless the number of shards is a power of two.
        let scaled = (u64::from(hash) * u64::from(count.clamp(1, Self::MAX_COUNT))) >> 32;
        Self(scaled.to_le_bytes()[0])
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

    /// Its number, from 0.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }

    /// Its index in a list of all shards.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A click: its link, the shard in which it is counted, and the owner, who never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Click {
    /// The link and the shard, no larger than the link's number.
    place: i64,
    owner: UserId,
}

impl Click {
    /// A click of the `link` of `owner` in `shard`.
    #[must_use]
    pub fn new(link: LinkId, owner: UserId, shard: Shard) -> Self {
        Self {
            place: link.number() | i64::from(shard.0) << LinkId::BITS,
            owner,
        }
    }

    /// The link.
    #[must_use]
    pub fn link(self) -> LinkId {
        LinkId::of_click(self.place)
    }

    /// The owner of the link.
    #[must_use]
    pub fn owner(self) -> UserId {
        self.owner
    }

    /// The shard.
    #[must_use]
    pub fn shard(self) -> Shard {
        Shard((self.place >> LinkId::BITS).to_le_bytes()[0])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_click_keeps_its_link_and_its_shard(id in 0..=LinkId::LAST.number(), shard: u8) {
            let link = LinkId::parse(id).unwrap();
            let click = Click::new(link, UserId(7), Shard(shard));
            prop_assert_eq!((click.link(), click.shard(), click.owner()), (link, Shard(shard), UserId(7)));
        }
    }

    #[test]
    fn an_epoch_names_its_shard() {
        for shard in Shard::all(Shard::MAX_COUNT) {
            let epoch = format!("{}0123456789abcdef-1700000000000000", shard.epoch_prefix());
            assert_eq!(Shard::of_epoch(&epoch), shard);
        }
        assert_eq!(
            Shard::of_epoch("0123456789abcdef-1700000000000000"),
            Shard::ONLY
        );
    }

    #[test]
    fn codes_are_spread_evenly_over_any_number_of_shards_and_stay_where_they_are() {
        let codes: Vec<_> = (0..20_000)
            .map(|number| ShortCode::parse(&format!("K7m{number:05}")).unwrap())
            .collect();
        for count in 1..=Shard::MAX_COUNT {
            let mut found = vec![0_u32; usize::from(count)];
            for code in &codes {
                found[Shard::of_code(code, count).index()] += 1;
            }
            // Pearson's test: the sum is near the number of shards where only chance decides.
            let fair = 20_000.0 / f64::from(count);
            let squares = found
                .iter()
                .map(|of| (f64::from(*of) - fair).powi(2) / fair);
            let limit = f64::from(count) + 6.0 * (2.0 * f64::from(count)).sqrt();
            assert!(squares.sum::<f64>() < limit, "{count}: {found:?}");
        }
        let known = ShortCode::parse("K7mXq2R").unwrap();
        let places = [1, 16, 32, 256].map(|count| Shard::of_code(&known, count).index());
        assert_eq!(places, [0, 12, 25, 200]);
    }
}
