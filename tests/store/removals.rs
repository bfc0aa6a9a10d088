//! Removals: links that one or several cover, accounts that are banned, and the work on many links.

use shunt::domain::{
    Clock, LinkProperties, NewestWanted, OwnHost, Principal, Reason, Removal, RemovalId,
    RemovalStatus, RemovalTarget, ShortCode, SystemClock, TargetUrl, Timestamp, UserId,
};
use shunt::store::{
    Actor, CreateLinkError, Edited, Kept, NewLink, NewRemoval, Removed, SCANNED_IN_STEP, Scanned,
    Store,
};

use crate::store::backend::{both_stores, delete_link, link, plain, user};

const OPERATOR: Actor<'static> = Actor {
    user: None,
    address: "command line",
};

async fn remove(store: &Store, kind: &str, value: &str, status: RemovalStatus) -> Removed {
    let target = RemovalTarget::parse(kind, value).unwrap();
    let reason = Reason::parse("spam").unwrap();
    let removal = NewRemoval {
        target: &target,
        reason: &reason,
        status,
        by: OPERATOR,
        at: SystemClock.now(),
    };
    store.remove(removal).await.unwrap()
}

fn id_of(removed: &Removed) -> RemovalId {
    match removed {
        Removed::Done(removal, _) => removal.id,
        other => panic!("it was not removed: {other:?}"),
    }
}

async fn revoked(store: &Store, id: RemovalId) -> usize {
    let revoked = store.revoke(id, OPERATOR, SystemClock.now());
    revoked.await.unwrap().unwrap().1.len()
}

/// Works until nothing is left to do at this moment. Returns how many changes there were.
async fn worked(store: &Store, now: Timestamp) -> usize {
    let covers = |at: Scanned<'_>| Some(at.text.contains("bad"));
    let mut changes = 0;
    while let Some(step) = store.scan_for_removals(&covers, now).await.unwrap() {
        assert!(step.scanned <= SCANNED_IN_STEP as usize);
        changes += step.changes.len();
    }
    changes
}

/// The removal that was made last.
async fn newest(store: &Store) -> Removal {
    let wanted = NewestWanted {
        limit: 1,
        ..NewestWanted::default()
    };
    let newest = store.removals(&wanted).await.unwrap();
    newest.entries.into_iter().next().unwrap()
}

fn later() -> Timestamp {
    SystemClock.now().after(std::time::Duration::from_hours(1))
}

async fn link_to(store: &Store, owner: Principal, target: &str, address: &str) -> ShortCode {
    let own = OwnHost::of(&url::Url::parse("https://sho.rt").unwrap()).unwrap();
    let properties = LinkProperties::of(TargetUrl::parse(target, &own).unwrap());
    let code = ShortCode::generate(7).unwrap();
    let new = NewLink {
        address: Some(address),
        ..NewLink::new(&code, &properties, owner, SystemClock.now())
    };
    store.create_link(new, 0).await.unwrap();
    code
}

async fn state(store: &Store, code: &ShortCode) -> (bool, Option<RemovalStatus>) {
    let link = store.link_target(code).await.unwrap().unwrap();
    (link.is_active, link.removed)
}

const GONE: (bool, Option<RemovalStatus>) = (false, Some(RemovalStatus::Gone));
const BLOCKED: (bool, Option<RemovalStatus>) = (false, Some(RemovalStatus::LegalReasons));
const FOLLOWED: (bool, Option<RemovalStatus>) = (true, None);

both_stores! {
    async fn a_removed_link_is_not_followed_and_its_removal_is_announced_once(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let removed = remove(&store, "link", code.as_str(), RemovalStatus::Gone).await;
        let Removed::Done(_, changes) = &removed else { panic!("{removed:?}") };
        let codes: Vec<_> = changes.iter().map(|change| change.code.clone()).collect();
        assert_eq!(codes, [Some(code.clone())]);
        assert_eq!(state(&store, &code).await, GONE);
        let seen = store.link_of(owner, &code).await.unwrap().unwrap().value;
        assert_eq!((seen.properties.is_active, seen.removed), (true, Some(RemovalStatus::Gone)));
        assert_eq!(revoked(&store, id_of(&removed)).await, 1);
        assert_eq!(state(&store, &code).await, FOLLOWED);
    }

    async fn a_removed_link_cannot_be_switched_on_by_hand(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let removed = remove(&store, "link", code.as_str(), RemovalStatus::LegalReasons).await;
        store.by_hand("UPDATE links SET is_active = false").await;
        assert_eq!(state(&store, &code).await, BLOCKED);
        store.by_hand("UPDATE links SET is_active = true").await;
        assert_eq!(state(&store, &code).await, BLOCKED);
        revoked(&store, id_of(&removed)).await;
        assert_eq!(state(&store, &code).await, FOLLOWED);
    }

    async fn an_edit_sees_that_a_link_is_removed(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        remove(&store, "link", code.as_str(), RemovalStatus::Gone).await;
        let edited = store.edit_link(owner, &code, &|link| {
            assert_eq!(link.removed, Some(RemovalStatus::Gone));
            None
        }, 0, SystemClock.now());
        assert!(matches!(edited.await.unwrap(), Edited::Refused));
    }

    async fn the_code_of_a_removed_link_is_retired_for_its_owner_too(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        remove(&store, "link", code.as_str(), RemovalStatus::Gone).await;
        assert!(delete_link(&store, owner, &code).await.is_some());
        let properties = plain();
        let new = NewLink { is_chosen: true, ..NewLink::new(&code, &properties, owner, SystemClock.now()) };
        assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::CodeTaken)));
    }

    async fn a_link_is_removed_while_one_removal_covers_it(store) {
        let owner = user(&store).await;
        let code = link_to(&store, owner, "https://bad.example/", "198.51.100.7").await;
        let link = remove(&store, "link", code.as_str(), RemovalStatus::Gone).await;
        let host = remove(&store, "host", "bad.example", RemovalStatus::LegalReasons).await;
        assert_eq!(state(&store, &code).await, GONE);
        assert_eq!(worked(&store, SystemClock.now()).await, 1);
        assert_eq!(state(&store, &code).await, BLOCKED);
        revoked(&store, id_of(&link)).await;
        assert_eq!(state(&store, &code).await, BLOCKED);
        revoked(&store, id_of(&host)).await;
        assert_eq!(worked(&store, SystemClock.now()).await, 1);
        assert_eq!(state(&store, &code).await, FOLLOWED);
    }

    async fn links_are_scanned_twice_and_then_no_more(store) {
        let owner = user(&store).await;
        let first = link_to(&store, owner, "https://bad.example/", "198.51.100.7").await;
        let good = link_to(&store, owner, "https://good.example/", "198.51.100.7").await;
        let host = id_of(&remove(&store, "host", "bad.example", RemovalStatus::Gone).await);
        assert_eq!(worked(&store, SystemClock.now()).await, 1);
        // Made by an instance that did not know of the removal yet.
        let second = link_to(&store, owner, "https://bad.example/", "198.51.100.7").await;
        assert_eq!(worked(&store, SystemClock.now()).await, 0);
        assert!(!newest(&store).await.is_running);
        assert_eq!(worked(&store, later()).await, 1);
        let removal = newest(&store).await;
        assert_eq!((removal.id, removal.links, removal.is_running), (host, 2, false));
        for (code, expected) in [(first, GONE), (second, GONE), (good, FOLLOWED)] {
            assert_eq!(state(&store, &code).await, expected);
        }
    }

    async fn very_many_links_are_removed_in_steps(store) {
        let owner = user(&store).await;
        store.by_hand(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1201)
             INSERT INTO links (short_code, target_url, owner_id, created_at)
             SELECT 'many-' || n, 'https://bad.example/', (SELECT min(id) FROM users), (SELECT min(created_at) FROM users) FROM numbers",
        )
        .await;
        for (kind, value) in [("user", owner.user.0.to_string()), ("host", "bad.example".into())] {
            let id = id_of(&remove(&store, kind, &value, RemovalStatus::Gone).await);
            worked(&store, SystemClock.now()).await;
            let removal = newest(&store).await;
            assert_eq!((removal.id, removal.links), (id, 1201), "{kind}");
            assert_eq!(worked(&store, later()).await, 0);
        }
        assert_eq!(state(&store, &ShortCode::parse("many-1201").unwrap()).await, GONE);
    }

    async fn a_banned_account_has_another_key_and_no_password(store) {
        let owner = user(&store).await;
        let email = store.credentials_of(owner).await.unwrap().unwrap().email;
        let value = owner.user.0.to_string();
        let ban = id_of(&remove(&store, "user", &value, RemovalStatus::Gone).await);
        assert!(store.user(owner).await.unwrap().is_none());
        let credentials = store.credentials(&email).await.unwrap().unwrap();
        assert_ne!(credentials.password_hash, "hash");
        let now = SystemClock.now();
        assert!(!store.set_role(owner.user, OPERATOR, now).await.unwrap());
        revoked(&store, ban).await;
        assert_eq!(store.credentials(&email).await.unwrap().unwrap().password_hash, "hash");
        assert!(store.set_role(owner.user, OPERATOR, now).await.unwrap());
        let owner = store.credentials(&email).await.unwrap().unwrap().principal;
        assert_eq!(store.is_admin(owner).await.unwrap(), Some(true));
        assert!(matches!(remove(&store, "user", "999999", RemovalStatus::Gone).await, Removed::Unknown));
        assert!(!store.set_role(UserId(999_999), OPERATOR, now).await.unwrap());
    }

    async fn an_account_with_a_ban_can_be_deleted_by_hand(store) {
        let owner = user(&store).await;
        link(&store, owner).await;
        remove(&store, "user", &owner.user.0.to_string(), RemovalStatus::Gone).await;
        worked(&store, later()).await;
        store.by_hand("DELETE FROM links").await;
        store.by_hand("DELETE FROM users").await;
    }

    async fn addresses_are_dropped_after_their_time(store) {
        let owner = user(&store).await;
        let code = link_to(&store, owner, "https://example.org/", "198.51.100.7").await;
        let wanted = NewestWanted { limit: 10, owner: Some(owner.user), ..NewestWanted::default() };
        let newest = store.scan_seen_links(&wanted).await.unwrap().matches;
        let numbers: Vec<_> = newest.iter().map(|position| position.key).collect();
        let seen = store.seen_links(&numbers).await.unwrap();
        assert_eq!((&seen[0].code, seen[0].address.as_deref()), (&code, Some("198.51.100.7")));
        let before = SystemClock.now().before(std::time::Duration::from_hours(1));
        assert_eq!(store.prune_kept(Kept::Addresses, before, 10).await.unwrap(), 0);
        assert_eq!(store.prune_kept(Kept::Addresses, later(), 10).await.unwrap(), 1);
        assert_eq!(store.seen_links(&numbers).await.unwrap()[0].address, None);
    }

    async fn another_blocklist_has_all_links_scanned_again(store) {
        let owner = user(&store).await;
        let now = SystemClock.now();
        assert!(!store.begin_blocklist("", now).await.unwrap(), "there was none");
        let code = link_to(&store, owner, "https://bad.example/", "198.51.100.7").await;
        assert!(store.begin_blocklist("first", now).await.unwrap());
        assert!(!store.begin_blocklist("first", now).await.unwrap());
        assert_eq!(worked(&store, now).await, 1);
        assert_eq!(state(&store, &code).await, GONE);
        assert!(store.begin_blocklist("", now).await.unwrap());
        let none = |_: Scanned<'_>| Some(false);
        while store.scan_for_removals(&none, now).await.unwrap().is_some() {}
        assert_eq!(state(&store, &code).await, FOLLOWED);
    }
}
