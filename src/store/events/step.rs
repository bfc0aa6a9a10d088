//! The order in which a step puts what waits.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::Waiting;
use super::waiting::QueuedEvent;
use crate::domain::{EventType, Interval, LinkId, UserId};
use crate::store::{ClickDetails, DetailedClicks};

/// Links of a row of clicks at most.
const LINKS_PER_ROW: usize = 1_000;

/// Classes of a row of clicks, unless one link has more: a row is read whole.
const CLASSES_PER_ROW: usize = 4_000;

/// The most clicks that are packed: a sum that no click makes is cut.
const MAX_CLICKS: u64 = i64::MAX.unsigned_abs();

/// Rows to be written, and what they are made of.
#[derive(Debug, Default)]
pub(in crate::store) struct Step {
    /// Events of links.
    pub(super) of_links: Vec<LinkRow>,
    /// Rows of clicks.
    pub(in crate::store) clicks: Vec<ClicksRow>,
    /// The numbers in the queue of what has a place now.
    pub(super) numbers: Vec<i64>,
    /// The next place of each account.
    next: HashMap<UserId, i64>,
}

/// An event of a link.
#[derive(Debug)]
pub(super) struct LinkRow {
    pub(super) first: i64,
    pub(super) event: QueuedEvent,
}

/// Clicks of links of one account in one interval.
#[derive(Debug)]
pub(in crate::store) struct ClicksRow {
    pub(in crate::store) owner: UserId,
    pub(in crate::store) first: i64,
    /// How many links there are.
    pub(in crate::store) size: i64,
    pub(in crate::store) interval: Interval,
    /// Packed classes.
    pub(in crate::store) classes: Vec<u8>,
}

/// Clicks by interval.
type Clicks = BTreeMap<Interval, Vec<DetailedClicks>>;

impl Step {
    /// Puts what waits in order: the events of each link as they happened, and its clicks before it is deleted or moved. If not all clicks
    /// are known, what happened to a link from its first deletion or move on has to wait.
    pub(in crate::store) fn of(waiting: Waiting) -> Self {
        let Waiting {
            queue,
            clicks,
            mut owners,
            counts,
            is_drained,
        } = waiting;
        // Up to its first deletion or move, the clicks of a link are those of the owner at that time.
        let ending = queue.iter().rev().filter(|event| event.ends_clicks());
        owners.extend(ending.map(|event| (event.link, event.owner)));
        let mut before_end: HashMap<LinkId, Clicks> = HashMap::new();
        let ends = queue.iter().filter(|event| event.ends_clicks());
        let mut ends: HashSet<LinkId> = ends.map(|event| event.link).collect();
        if !is_drained {
            // Their clicks go on with the next step, of the same owner.
            ends.clear();
        }
        let mut held = HashSet::new();
        let mut of_owners = BTreeMap::<UserId, Clicks>::new();
        for (interval, details) in clicks {
            for part in details.into_links() {
                let of_link = if ends.contains(&part.link) {
                    before_end.entry(part.link).or_default()
                } else if let Some(owner) = owners.get(&part.link) {
                    of_owners.entry(*owner).or_default()
                } else {
                    // The link is an alias, or is gone with its clicks.
                    continue;
                };
                of_link.entry(interval).or_default().push(part);
            }
        }
        let mut step = Self::default();
        for event in queue {
            if !is_drained && event.ends_clicks() {
                held.insert(event.link);
            }
            if held.contains(&event.link) {
                continue;
            }
            step.numbers.push(event.number);
            if event.ends_clicks()
                && let Some(clicks) = before_end.remove(&event.link)
            {
                step.add_clicks(event.owner, clicks);
            }
            let arrived = event.arrived(&counts);
            step.add_event(event);
            if let Some(arrived) = arrived {
                step.add_event(arrived);
            }
        }
        for (owner, clicks) in of_owners {
            step.add_clicks(owner, clicks);
        }
        step
    }

    /// The accounts that are told something.
    pub(super) fn owners(&self) -> Vec<i64> {
        self.next.keys().map(|owner| owner.0).collect()
    }

    /// Leaves out what accounts would be told that are gone.
    pub(super) fn retain(&mut self, present: &HashSet<i64>) {
        self.of_links
            .retain(|row| present.contains(&row.event.owner.0));
        self.clicks.retain(|row| present.contains(&row.owner.0));
    }

    pub(in crate::store) fn is_empty(&self) -> bool {
        self.of_links.is_empty() && self.clicks.is_empty()
    }

    fn add_event(&mut self, event: QueuedEvent) {
        let first = self.place(event.owner, 1);
        self.of_links.push(LinkRow { first, event });
    }

    fn add_clicks(&mut self, owner: UserId, clicks: Clicks) {
        for (interval, parts) in clicks {
            let parts = summed(parts);
            let of_links: Vec<_> = parts.chunk_by(|one, next| one.link == next.link).collect();
            for row in rows(&of_links) {
                let size = row.len().try_into().unwrap_or(i64::MAX);
                let details = ClickDetails::new(row.concat());
                let first = self.place(owner, size);
                self.clicks.push(ClicksRow {
                    owner,
                    first,
                    size,
                    interval,
                    classes: details.packed(),
                });
            }
        }
    }

    fn place(&mut self, owner: UserId, size: i64) -> i64 {
        let next = self.next.entry(owner).or_default();
        let first = *next;
        *next += size;
        first
    }
}

/// The clicks of links, for one row each time.
fn rows<'a>(
    of_links: &'a [&'a [DetailedClicks]],
) -> impl Iterator<Item = &'a [&'a [DetailedClicks]]> {
    let mut rest = of_links;
    std::iter::from_fn(move || {
        let mut classes = 0;
        let fitting = rest.iter().take(LINKS_PER_ROW).take_while(|of_link| {
            classes += of_link.len();
            classes <= CLASSES_PER_ROW
        });
        let links = fitting.count().max(1).min(rest.len());
        let (row, after) = rest.split_at(links);
        rest = after;
        (!row.is_empty()).then_some(row)
    })
}

/// The clicks by rising link, each class of a link once.
fn summed(mut parts: Vec<DetailedClicks>) -> Vec<DetailedClicks> {
    parts.sort_by(|one, other| (one.link, &one.class).cmp(&(other.link, &other.class)));
    parts.dedup_by(|next, sum| {
        let is_same = (next.link, &next.class) == (sum.link, &sum.class);
        if is_same {
            sum.clicks = sum.clicks.saturating_add(next.clicks).min(MAX_CLICKS);
        }
        is_same
    });
    parts
}

impl QueuedEvent {
    /// Whether later clicks of the link are not those of this account.
    fn ends_clicks(&self) -> bool {
        matches!(self.of, EventType::Deleted | EventType::Moved)
    }

    /// Of a move, what the new owner is told: the link starts there with all of its clicks.
    fn arrived(&self, counts: &HashMap<LinkId, u64>) -> Option<Self> {
        let clicks = counts.get(&self.link).copied().unwrap_or_default();
        Some(Self {
            owner: self.moved_to?,
            of: EventType::Created,
            clicks: i64::try_from(clicks).unwrap_or(i64::MAX),
            moved_to: None,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{ClickClass, Timestamp};

    const ANA: UserId = UserId(1);
    const BEN: UserId = UserId(2);

    fn link(number: i64) -> LinkId {
        LinkId::parse(number).unwrap()
    }

    fn event(number: i64, of: EventType, of_link: i64) -> QueuedEvent {
        QueuedEvent {
            number,
            owner: ANA,
            link: link(of_link),
            of,
            at: Timestamp::from_micros(number).unwrap(),
            short_code: "spring".into(),
            target_url: "https://example.org/".into(),
            title: String::new(),
            tags: "[]".into(),
            clicks: 0,
            moved_to: (of == EventType::Moved).then_some(BEN),
        }
    }

    fn clicks(of_links: &[(i64, u64)]) -> (Interval, ClickDetails) {
        let part = |(of_link, clicks): &(i64, u64)| DetailedClicks {
            link: link(*of_link),
            class: Arc::new(ClickClass::unknown()),
            clicks: *clicks,
        };
        let details = ClickDetails::new(of_links.iter().map(part).collect());
        (Interval::FIRST, details)
    }

    fn waiting(queue: Vec<QueuedEvent>, clicks: Vec<(Interval, ClickDetails)>) -> Waiting {
        Waiting {
            queue,
            clicks,
            owners: HashMap::from([(link(7), ANA), (link(8), ANA), (link(9), BEN)]),
            counts: HashMap::from([(link(7), 12)]),
            is_drained: true,
        }
    }

    /// The events of an account as words, in their order.
    fn told(step: &Step, owner: UserId) -> Vec<String> {
        let mut told: Vec<(i64, String)> = Vec::new();
        for row in step.of_links.iter().filter(|row| row.event.owner == owner) {
            let QueuedEvent {
                of, link, clicks, ..
            } = &row.event;
            told.push((
                row.first,
                format!("{} {} {clicks}", of.as_str(), link.number()),
            ));
        }
        for row in step.clicks.iter().filter(|row| row.owner == owner) {
            let details = ClickDetails::parse(&row.classes).unwrap();
            let words: Vec<_> = details
                .of_links()
                .iter()
                .map(|part| format!("clicks {} {}", part.link.number(), part.clicks))
                .collect();
            assert_eq!(row.size, i64::try_from(words.len()).unwrap());
            told.push((row.first, words.join(", ")));
        }
        told.sort();
        told.into_iter().map(|(_, words)| words).collect()
    }

    #[test]
    fn clicks_come_after_the_link_was_made_and_before_it_is_deleted() {
        let queue = vec![
            event(1, EventType::Deleted, 7),
            event(2, EventType::Created, 8),
        ];
        let step = Step::of(waiting(
            queue,
            vec![clicks(&[(7, 2), (8, 1)]), clicks(&[(7, 3), (9, 4)])],
        ));
        let of_ana = [
            "clicks 7 5",
            "link.deleted 7 0",
            "link.created 8 0",
            "clicks 8 1",
        ];
        assert_eq!(told(&step, ANA), of_ana);
        assert_eq!(told(&step, BEN), ["clicks 9 4"]);
        assert_eq!(step.numbers, [1, 2]);
    }

    #[test]
    fn a_link_that_is_moved_starts_with_its_clicks_at_its_new_owner() {
        let mut moved = waiting(vec![event(1, EventType::Moved, 7)], vec![clicks(&[(7, 2)])]);
        // The database has the new owner already.
        moved.owners.insert(link(7), BEN);
        let step = Step::of(moved);
        assert_eq!(told(&step, ANA), ["clicks 7 2", "link.moved 7 0"]);
        assert_eq!(told(&step, BEN), ["link.created 7 12"]);
    }

    #[test]
    fn an_end_waits_until_all_clicks_before_it_are_known_and_holds_up_no_other_link() {
        let queue = vec![
            event(1, EventType::Changed, 7),
            event(2, EventType::Moved, 7),
            event(3, EventType::Created, 8),
            event(4, EventType::Changed, 7),
        ];
        let mut waiting = Waiting {
            is_drained: false,
            ..waiting(queue, vec![clicks(&[(7, 2), (8, 1)])])
        };
        // The database has the new owner already.
        waiting.owners.insert(link(7), BEN);
        let step = Step::of(waiting);
        let of_ana = [
            "link.changed 7 0",
            "link.created 8 0",
            "clicks 7 2, clicks 8 1",
        ];
        assert_eq!(told(&step, ANA), of_ana);
        assert_eq!(told(&step, BEN), [""; 0]);
        assert_eq!(step.numbers, [1, 3]);
    }

    #[test]
    fn many_links_are_several_rows_and_the_places_go_on() {
        let many: Vec<_> = (1..=2_500).map(|number| (number, 1)).collect();
        let mut waiting = waiting(Vec::new(), vec![clicks(&many)]);
        waiting.owners = many
            .iter()
            .map(|(number, _)| (link(*number), ANA))
            .collect();
        let step = Step::of(waiting);
        let places: Vec<_> = step
            .clicks
            .iter()
            .map(|row| (row.first, row.size))
            .collect();
        assert_eq!(places, [(0, 1_000), (1_000, 1_000), (2_000, 500)]);
    }
}
