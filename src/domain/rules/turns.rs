//! Whose turn it is in a split.
//!
//! After each of any number of turns every target has had its share to within one: as many turns as its weight says, rounded up or
//! down. Taking whoever is furthest behind does not keep that with three targets or more. So each turn of a target has a first
//! moment, before which it would be too early, and a last one; of those whose first moment has come the target goes first whose last
//! moment comes first. With as many turns as weights in all this meets every moment (it is the fair scheduling of one
//! processor).

/// The turns that the targets of a split have had, since all had their whole shares last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turns {
    all: u16,
    of_each: [u16; Self::MOST],
}

impl Turns {
    /// Targets of a split at most.
    pub const MOST: usize = 10;

    /// Takes the next turn; returns whose it is. There are at most [`Turns::MOST`] weights of 1 to 1,000 each.
    pub fn take(&mut self, weights: &[u16]) -> usize {
        let whole: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let next = u64::from(self.all) + 1;
        let each = self.of_each.iter().zip(weights).enumerate();
        let due = each.filter_map(|(place, (had, weight))| {
            let (had, weight) = (u64::from(*had), u64::from(*weight));
            let has_come = had * whole < next * weight;
            has_come.then(|| (((had + 1) * whole).div_ceil(weight), place))
        });
        let (_, place) = due.min().unwrap_or_default();
        self.all += 1;
        self.of_each[place] += 1;
        if u64::from(self.all) >= whole {
            *self = Self::default();
        }
        place
    }

    /// Gives the newest turn of a target back.
    pub fn give_back(&mut self, place: usize, weights: &[u16]) {
        if self.all == 0 {
            self.all = weights.iter().sum();
            self.of_each[..weights.len()].copy_from_slice(weights);
        }
        self.all -= 1;
        self.of_each[place] = self.of_each[place].saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_target_has_had_its_share_to_within_one_after_any_number_of_turns(
            weights in prop_oneof![vec(1..=1_000_u16, 2..=10), vec(1..=4_u16, 2..=10)],
        ) {
            let whole: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
            let mut turns = Turns::default();
            let mut had = vec![0_u64; weights.len()];
            for all in 1..=2 * whole {
                had[turns.take(&weights)] += 1;
                for (had, weight) in had.iter().zip(&weights) {
                    let share = all * u64::from(*weight);
                    prop_assert!((had * whole).abs_diff(share) < whole);
                }
            }
            prop_assert_eq!(turns, Turns::default());
        }

        #[test]
        fn a_turn_that_is_given_back_is_taken_by_the_same_target(
            weights in vec(1..=9_u16, 2..=10),
            before in 0..100_u32,
        ) {
            let mut turns = Turns::default();
            for _ in 0..before {
                turns.take(&weights);
            }
            let place = turns.take(&weights);
            turns.give_back(place, &weights);
            prop_assert_eq!(turns.take(&weights), place);
        }
    }
}
