//! The class of a connection's last click.
//!
//! A browser sends the same headers with each request of a connection, so their bytes are compared before anything is looked up. A
//! proxy may send requests of many visitors over one connection. After some requests that all differ nothing is kept of it any more.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::ClickClass;

/// The longest headers that a connection keeps, together: many connections are idle.
const MAX_BYTES: usize = 512;

/// So many requests in a row, each of which differs from the one before, come from a proxy.
const MAX_CHANGES: u8 = 8;

/// What a class depends on: the agent, the referrer, and the line with the address if countries are known.
pub(super) type ClassHeaders<'a> = [&'a [u8]; 3];

/// The class of the last click of a connection, with the headers that it was found by.
#[derive(Default)]
pub struct LastClass(Mutex<Last>);

#[derive(Default)]
struct Last {
    known: Option<Known>,
    /// The requests in a row that differed from the one before.
    changes: u8,
}

struct Known {
    /// The headers one after another, and the lengths of the first two.
    bytes: Vec<u8>,
    agent: usize,
    referrer: usize,
    /// The version of the countries.
    countries: Option<u64>,
    class: Arc<ClickClass>,
}

impl LastClass {
    /// The class, if it was found by the same headers and countries.
    pub(super) fn get(
        &self,
        headers: ClassHeaders<'_>,
        countries: Option<u64>,
    ) -> Option<Arc<ClickClass>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.known.as_ref()?;
        let class = known
            .is_of(headers, countries)
            .then(|| Arc::clone(&known.class))?;
        last.changes = 0;
        Some(class)
    }

    /// Keeps the class that was found by these headers and countries.
    pub(super) fn keep(
        &self,
        headers: ClassHeaders<'_>,
        countries: Option<u64>,
        class: &Arc<ClickClass>,
    ) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.changes > MAX_CHANGES {
            return;
        }
        last.changes += 1;
        let [agent, referrer, address] = headers;
        let is_short = agent.len() + referrer.len() + address.len() <= MAX_BYTES;
        last.known = (is_short && last.changes <= MAX_CHANGES).then(|| Known {
            bytes: headers.concat(),
            agent: agent.len(),
            referrer: referrer.len(),
            countries,
            class: Arc::clone(class),
        });
    }
}

impl Known {
    fn is_of(&self, [agent, referrer, address]: ClassHeaders<'_>, countries: Option<u64>) -> bool {
        let (known_agent, rest) = self.bytes.split_at(self.agent);
        let (known_referrer, known_address) = rest.split_at(self.referrer);
        known_agent == agent
            && known_referrer == referrer
            && known_address == address
            && self.countries == countries
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_class_is_used_again_for_the_same_headers_and_for_no_others(
            kept in ["[ab]{0,3}", "[ab]{0,3}", "[ab]{0,3}"],
            asked in ["[ab]{0,3}", "[ab]{0,3}", "[ab]{0,3}"],
            countries in proptest::option::of(0_u64..2),
            countries_asked in proptest::option::of(0_u64..2),
        ) {
            let bytes = |texts: &[String; 3]| texts.clone().map(String::into_bytes);
            let (kept, asked) = (bytes(&kept), bytes(&asked));
            let last = LastClass::default();
            let class = Arc::new(ClickClass::unknown());
            last.keep([b"another", b"visitor", b""], None, &class);
            last.keep(kept.each_ref().map(|header| &header[..]), countries, &class);
            let found = last.get(asked.each_ref().map(|header| &header[..]), countries_asked);
            prop_assert_eq!(found.is_some(), (kept, countries) == (asked, countries_asked));
        }
    }

    #[test]
    fn long_headers_are_not_kept_and_those_before_are_forgotten() {
        let (last, class) = (LastClass::default(), Arc::new(ClickClass::unknown()));
        let (short, long) = ([b'a'; MAX_BYTES], [b'a'; MAX_BYTES + 1]);
        last.keep([&short, b"", b""], None, &class);
        assert!(last.get([&short, b"", b""], None).is_some());
        last.keep([&long, b"", b""], None, &class);
        assert!(last.get([&long, b"", b""], None).is_none());
        assert!(last.get([&short, b"", b""], None).is_none());
    }

    #[test]
    fn of_a_connection_whose_requests_all_differ_nothing_is_kept_any_more() {
        let (last, class) = (LastClass::default(), Arc::new(ClickClass::unknown()));
        let ask = |agent: u8| {
            let headers = [&[agent][..], b"", b""];
            let is_known = last.get(headers, None).is_some();
            if !is_known {
                last.keep(headers, None, &class);
            }
            is_known
        };
        for pair in 0..100 {
            assert_eq!([ask(pair), ask(pair)], [false, true], "{pair}");
        }
        for agent in 0..=MAX_CHANGES {
            assert!(!ask(agent), "{agent}");
        }
        assert_eq!([ask(1), ask(1)], [false, false]);
        assert!(last.0.lock().unwrap().known.is_none());
    }
}
