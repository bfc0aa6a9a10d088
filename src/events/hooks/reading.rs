//! Reads from the feed what a receiver wants.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::domain::{CurrentHosts, EventPlace};
use crate::events::event_body;
use crate::store::{Event, HeldLink, LeasedHook, NewDeliveries, NewDelivery, Store, StoreError};

/// Events that are read at once.
const PAGE: usize = 100;

/// Bytes of one round, unless its first event has more.
const MAX_ROUND_BYTES: usize = 128 << 10;

/// Deliveries of one round, unless the receiver takes nothing.
const MAX_ROUND: usize = 50;

/// Bytes of a delivery: of a larger one the classes are left out.
const MAX_BYTES: usize = 64 << 10;

/// So many deliveries of a link wait at most: then the link is held, so that one that is refused leaves room for others.
const MAX_OF_LINK: u32 = 20;

/// Pages of the feed that are searched at once for events of a held link.
const MAX_PAGES: usize = 5;

/// What a receiver wants next.
pub(super) struct New {
    pub(super) read: NewDeliveries,
    pub(super) are_more: bool,
}

/// More events of a held link.
pub(super) struct NewHeld {
    pub(super) link: HeldLink,
    pub(super) deliveries: Vec<NewDelivery>,
    /// Where the link is held from now on, if it still is.
    pub(super) next: Option<EventPlace>,
}

/// Reads the feeds of accounts for their hooks.
pub(super) struct HookReader {
    store: Store,
    hosts: CurrentHosts,
    turns: Arc<Semaphore>,
}

impl HookReader {
    /// Each page is read in a turn, as it may take some megabytes.
    pub(super) fn new(store: Store, hosts: CurrentHosts, turns: Arc<Semaphore>) -> Self {
        Self {
            store,
            hosts,
            turns,
        }
    }

    /// What the receiver wants next: at most one event of each link, as the second one waits for the first.
    pub(super) async fn read_new(&self, hook: &LeasedHook) -> Result<Option<New>, StoreError> {
        let _turn = self.turns.acquire().await;
        let page = self.store.events_after(hook.owner, hook.read, PAGE).await?;
        if page.next == hook.read {
            return Ok(None);
        }
        let mut links = HashSet::new();
        let mut read = NewDeliveries {
            deliveries: Vec::new(),
            held: Vec::new(),
            next: hook.read,
        };
        let mut bytes = 0;
        for event in &page.events {
            if let Some(delivery) = self.delivery(hook, event) {
                bytes += delivery.body.len();
                let is_full = read.deliveries.len() >= MAX_ROUND || bytes > MAX_ROUND_BYTES;
                let is_second = !links.insert(delivery.link.clone());
                if is_full && !read.deliveries.is_empty() || is_second {
                    let are_more = true;
                    return Ok(Some(New { read, are_more }));
                }
                read.deliveries.push(delivery);
            }
            read.next = event.cursor.place;
        }
        read.next = page.next;
        // A short page was the last one.
        let are_more = page.events.len() >= PAGE / 2;
        Ok(Some(New { read, are_more }))
    }

    /// What is put in line: of each link as much as may wait.
    pub(super) async fn read_queue(&self, hook: &LeasedHook) -> Result<Option<New>, StoreError> {
        let _turn = self.turns.acquire().await;
        let page = self.store.events_after(hook.owner, hook.read, PAGE).await?;
        if page.next == hook.read {
            return Ok(None);
        }
        let mut waiting = self.store.waiting_links(hook.hook.id).await?;
        let mut read = NewDeliveries {
            deliveries: Vec::new(),
            held: Vec::new(),
            next: page.next,
        };
        let (mut before, mut bytes) = (hook.read, 0);
        for event in &page.events {
            if bytes > MAX_ROUND_BYTES {
                read.next = before;
                let are_more = true;
                return Ok(Some(New { read, are_more }));
            }
            if let Some(delivery) = self.delivery(hook, event)
                && !waiting.held.contains(&delivery.link)
            {
                bytes += delivery.body.len();
                let of_link = waiting.deliveries.entry(delivery.link.clone());
                let of_link = of_link.or_default();
                if *of_link < MAX_OF_LINK {
                    *of_link += 1;
                    read.deliveries.push(delivery);
                } else {
                    waiting.held.insert(delivery.link.clone());
                    read.held.push(HeldLink {
                        link: delivery.link,
                        read: before,
                    });
                }
            }
            before = event.cursor.place;
        }
        let are_more = page.events.len() >= PAGE / 2;
        Ok(Some(New { read, are_more }))
    }

    /// More of a held link, if none of it waits any more.
    pub(super) async fn read_held(&self, hook: &LeasedHook) -> Result<Option<NewHeld>, StoreError> {
        let _turn = self.turns.acquire().await;
        let Some(link) = self.store.next_held_link(hook.hook.id).await? else {
            return Ok(None);
        };
        let (mut deliveries, mut next, mut bytes) = (Vec::new(), link.read, 0);
        let mut is_full = false;
        for _ in 0..MAX_PAGES {
            let page = self.store.events_after(hook.owner, next, PAGE).await?;
            let is_last = page.next == next || page.next >= hook.read;
            next = if is_last { hook.read } else { page.next };
            for event in &page.events {
                // What comes after it is put in line as events of all links are.
                if event.cursor.place > hook.read {
                    break;
                }
                if link_of(event) != link.link {
                    continue;
                }
                if let Some(delivery) = self.delivery(hook, event) {
                    bytes += delivery.body.len();
                    deliveries.push(delivery);
                }
                if deliveries.len() >= MAX_OF_LINK as usize || bytes > MAX_ROUND_BYTES {
                    next = event.cursor.place;
                    is_full = true;
                    break;
                }
            }
            if next >= hook.read || is_full {
                break;
            }
        }
        Ok(Some(NewHeld {
            link,
            deliveries,
            next: (next < hook.read).then_some(next),
        }))
    }

    /// The delivery of an event, if the receiver wants it.
    fn delivery(&self, hook: &LeasedHook, event: &Event) -> Option<NewDelivery> {
        let of = event.happened.event_type();
        if !hook.hook.filter.takes(of, &event.tags) {
            return None;
        }
        let code = event.code.as_ref();
        let mut document = event_body(event, code.and_then(|code| self.hosts.host_of(code)));
        let mut body = serde_json::to_string(&document).ok()?;
        if body.len() > MAX_BYTES {
            document.classes = None;
            body = serde_json::to_string(&document).ok()?;
        }
        Some(NewDelivery {
            event_id: document.id,
            of: of.as_str(),
            link: link_of(event).to_owned(),
            body,
            attempt: None,
        })
    }
}

/// The code of the link to which an event belongs; empty if it belongs to none.
fn link_of(event: &Event) -> &str {
    event.code.as_ref().map_or("", |code| code.as_key())
}
