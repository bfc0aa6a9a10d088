//! A bounded cache of answers that are expensive to compute.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use foldhash::fast::RandomState;

/// Keeps the answers that were used last. Once the young half is full it becomes the old half, and what was in that is gone.
/// A look-up of what is known allocates nothing.
pub(super) struct Memo<K, V> {
    young: HashMap<K, V, RandomState>,
    old: HashMap<K, V, RandomState>,
    /// Bytes of the keys in the young half.
    bytes: usize,
    limit: Limit,
}

/// What one half has room for.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    pub(super) entries: usize,
    pub(super) bytes: usize,
}

impl<K: Hash + Eq, V: Clone> Memo<K, V> {
    pub(super) fn new(limit: Limit) -> Self {
        Self {
            young: HashMap::default(),
            old: HashMap::default(),
            bytes: 0,
            limit,
        }
    }

    /// The answer for a key of this many bytes, if it is known.
    pub(super) fn get<Q>(&mut self, key: &Q, bytes: usize) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(known) = self.young.get(key) {
            return Some(known.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.insert(key, bytes, value.clone());
        Some(value)
    }

    /// Keeps the answer for a key of this many bytes.
    pub(super) fn insert(&mut self, key: K, bytes: usize, value: V) {
        if self.young.len() >= self.limit.entries || self.bytes + bytes > self.limit.bytes {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(key, value);
    }

    /// How many answers it has.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memo(entries: usize, bytes: usize) -> Memo<String, usize> {
        Memo::new(Limit { entries, bytes })
    }

    fn ask(memo: &mut Memo<String, usize>, key: &str, made: &mut usize) -> usize {
        memo.get(key, key.len()).unwrap_or_else(|| {
            *made += 1;
            memo.insert(key.to_owned(), key.len(), *made);
            *made
        })
    }

    #[test]
    fn an_answer_is_made_once_while_it_is_used() {
        let (mut memo, mut made) = (memo(10, 1_000), 0);
        let first = ask(&mut memo, "used", &mut made);
        for other in 0..100 {
            ask(&mut memo, &other.to_string(), &mut made);
            assert_eq!(ask(&mut memo, "used", &mut made), first);
        }
        assert_eq!(made, 101);
    }

    #[test]
    fn it_grows_neither_past_its_entries_nor_past_its_bytes() {
        for (mut memo, most) in [(memo(10, 1_000_000), 20), (memo(1_000_000, 100), 20)] {
            let mut made = 0;
            for other in 0..1_000_000_000_u64 {
                ask(&mut memo, &format!("{other:010}"), &mut made);
                assert!(memo.len() <= most);
                if other == 10_000 {
                    break;
                }
            }
        }
    }
}
