//! Links and the outbox of their changes.

use shunt::domain::{
    Clock, Interval, Link, LinkFilter, LinkId, LinkProperties, Principal, SearchTag, ShortCode,
    SystemClock, Tags, Timestamp, TokenKey, UserId,
};
use shunt::store::{
    ClickBatch, ClickDetails, CreateLinkError, Deleted, Deletion, Edited, MergeRound, NewLink,
    Position, Raise,
};

use crate::store::backend::{both_stores, delete_link, link, moment, plain, target, user};
use crate::support::clicks::of_links;

both_stores! {
    async fn a_new_link_is_active_and_found_by_its_code(store) {
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let found = store.link_target(&code).await.unwrap().unwrap();
        assert_eq!((found.id, found.target, found.is_active), (id, target(), true));
        assert!(store.link_target(&ShortCode::generate(7).unwrap()).await.unwrap().is_none());
    }

    async fn an_edit_reads_the_clicks_that_the_database_has(store) {
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let mut batch = ClickBatch {
            recorder: 7,
            number: 1,
            interval: Interval::from_number(2_000_000),
            clicks: of_links([(id, 3)]),
            details: ClickDetails::default(),
        };
        store.clicks.append(&batch, None).await.unwrap();
        store.clicks.compact(&mut MergeRound::default()).await.unwrap();
        (batch.number, batch.clicks) = (2, of_links([(id, 2)]));
        store.clicks.append(&batch, None).await.unwrap();
        // One that may be in Redis is not counted.
        (batch.recorder, batch.clicks) = (8, of_links([(id, 9)]));
        store.clicks.append(&batch, Some("epoch")).await.unwrap();
        for is_active in [false, false, true] {
            let edit = |link: &Link| Some(LinkProperties { is_active, ..link.properties.clone() });
            let edited = store.edit_link(owner, &code, &edit, 0, SystemClock.now()).await.unwrap();
            let Edited::Done(edited) = edited else { panic!("{edited:?}") };
            assert_eq!((edited.clicks, edited.link.has_parked), (5, true));
            assert_eq!(edited.link.value.properties.is_active, is_active);
        }
    }

    async fn the_database_itself_keeps_no_start_after_the_end(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let set = async |start: i64, end: i64| {
            let edit = |link: &Link| Some(LinkProperties {
                starts_at: Timestamp::from_micros(start),
                expires_at: Timestamp::from_micros(end),
                ..link.properties.clone()
            });
            store.edit_link(owner, &code, &edit, 0, SystemClock.now()).await.is_ok()
        };
        assert!(set(1, 2).await);
        assert!(!set(2, 2).await);
        assert!(!set(3, 2).await);
    }

    async fn a_code_is_taken_once(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let properties = plain();
        let new = NewLink::new(&code, &properties, owner, SystemClock.now());
        assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::CodeTaken)));
    }

    async fn links_that_were_made_are_counted_also_once_they_are_deleted(store) {
        let owner = user(&store).await;
        let before = store.links_made().await.unwrap();
        let (code, _) = link(&store, owner).await;
        link(&store, owner).await;
        assert!(delete_link(&store, owner, &code).await.is_some());
        assert_eq!(store.links_made().await.unwrap(), before + 2);
    }

    async fn a_link_needs_an_owner(store) {
        let code = ShortCode::generate(7).unwrap();
        let owner = Principal { user: UserId(999), key: TokenKey::generate().unwrap() };
        let properties = plain();
        let new = NewLink::new(&code, &properties, owner, SystemClock.now());
        assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::OwnerGone)));
    }

    async fn a_deleted_link_is_gone_and_its_code_stays_taken(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        assert!(delete_link(&store, owner, &code).await.is_some());
        assert!(store.link_target(&code).await.unwrap().is_none());
        assert!(delete_link(&store, owner, &code).await.is_none());
        let properties = plain();
        let new = NewLink::new(&code, &properties, owner, SystemClock.now());
        assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::CodeTaken)));
    }

    async fn a_link_of_another_owner_is_not_deleted(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let (code, _) = link(&store, ada).await;
        assert!(delete_link(&store, bob, &code).await.is_none());
        assert!(store.link_target(&code).await.unwrap().is_some());
        assert!(store.unpublished_changes(0, 10).await.unwrap().is_empty());
    }

    async fn a_link_is_deleted_if_it_is_as_expected(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let (code, id) = link(&store, ada).await;
        let is_it = |link: &Link| link.id == id;
        let refused = store.delete_link(ada, &code, Some(&|_| false), Deletion::AtOnce).await.unwrap();
        assert_eq!(refused, Deleted::Refused);
        assert_eq!(store.delete_link(bob, &code, Some(&is_it), Deletion::AtOnce).await.unwrap(), Deleted::NotFound);
        assert!(store.unpublished_changes(0, 10).await.unwrap().is_empty());
        let deleted = store.delete_link(ada, &code, Some(&is_it), Deletion::AtOnce).await.unwrap();
        let change = store.unpublished_changes(0, 10).await.unwrap().remove(0);
        assert_eq!(deleted, Deleted::Done(vec![change]));
        assert_eq!(store.delete_link(ada, &code, Some(&is_it), Deletion::AtOnce).await.unwrap(), Deleted::NotFound);
    }

    async fn a_deletion_stays_in_the_outbox_until_it_is_published(store) {
        let owner = user(&store).await;
        let mut deleted = Vec::new();
        for _ in 0..4 {
            let (code, _) = link(&store, owner).await;
            assert!(delete_link(&store, owner, &code).await.is_some());
            deleted.push(Some(code));
        }
        let changes = store.unpublished_changes(0, 10).await.unwrap();
        assert_eq!(changes.iter().map(|change| change.code.clone()).collect::<Vec<_>>(), deleted);
        assert_eq!(store.unpublished_changes(0, 2).await.unwrap(), changes[..2]);
        assert_eq!(store.unpublished_changes(changes[1].number, 1).await.unwrap(), changes[2..3]);
        store.changes_published(&[changes[0].number, changes[2].number, 12345], &[]).await.unwrap();
        store.changes_published(&[changes[3].number], &[]).await.unwrap();
        assert_eq!(store.unpublished_changes(0, 10).await.unwrap(), changes[1..2]);
    }

    async fn a_change_that_was_published_in_a_redis_which_is_not_in_use_stays_in_the_outbox(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let change = delete_link(&store, owner, &code).await.unwrap();
        let raise = |from, replication_id| Raise { tag: "{tag}", from, above: 0, replication_id };
        let first = store.begin_data_set(raise(0, "first"), "").await.unwrap().unwrap();
        let second = store.begin_data_set(raise(first.term, "second"), "").await.unwrap().unwrap();
        // Once it is published, it is so whatever Redis another instance uses.
        for (term, left) in [(first.term, 1), (second.term, 0), (first.term, 0)] {
            let are_all = store.changes_published(&[change.number], &[term]).await.unwrap();
            assert_eq!(are_all, left == 0);
            assert_eq!(store.unpublished_changes(0, 10).await.unwrap().len(), left);
        }
    }

    async fn a_published_change_leaves_every_other_change_of_the_same_code_in_the_outbox(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        store.by_hand("UPDATE links SET is_active = false").await;
        store.by_hand("UPDATE links SET is_active = true").await;
        let deletion = delete_link(&store, owner, &code).await.unwrap();
        let unpublished = async || store.unpublished_changes(0, 10).await.unwrap();
        let changes = unpublished().await;
        let codes: Vec<_> = changes.iter().map(|change| change.code.as_ref()).collect();
        assert_eq!(codes, [Some(&code); 3]);
        assert_eq!(deletion, changes[2], "a deletion is announced under its own number");
        store.changes_published(&[deletion.number], &[]).await.unwrap();
        assert_eq!(unpublished().await, changes[..2], "the deletion alone is published");
        store.changes_published(&[changes[0].number], &[]).await.unwrap();
        assert_eq!(unpublished().await, changes[1..2], "the older change alone is published");
    }

    async fn links_are_listed_newest_first_and_by_id_within_a_moment(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        link(&store, bob).await;
        let mut ids = Vec::new();
        for micros in [5, 7, 7, 7, 6] {
            let code = ShortCode::generate(7).unwrap();
            let created_at = moment(1_700_000_000_000_000 + micros);
            let properties = plain();
            let new = NewLink::new(&code, &properties, ada, created_at);
            ids.push(store.create_link(new, 0).await.unwrap().link.id);
        }
        let order = [ids[3], ids[2], ids[1], ids[4], ids[0]];
        let all = store.links_of(ada, None, 10).await.unwrap().value;
        assert_eq!(all.iter().map(|link| link.id).collect::<Vec<_>>(), order);
        assert_eq!(all[4].created_at, moment(1_700_000_000_000_005), "microseconds are kept");
        let mut paged: Vec<LinkId> = Vec::new();
        let mut after = None;
        loop {
            let page = store.links_of(ada, after, 2).await.unwrap().value;
            let Some(last) = page.last() else { break };
            after = Some(Position::of(last));
            paged.extend(page.iter().map(|link| link.id));
        }
        assert_eq!(paged, order);
    }

    async fn links_are_read_with_their_clicks_in_the_order_in_which_they_were_made(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let first = link(&store, ada).await.1;
        link(&store, bob).await;
        let second = link(&store, ada).await.1;
        let read = store.clicks_of_links(ada.user, None, 9).await.unwrap();
        let ids: Vec<_> = read.iter().map(|link| (link.made.id, link.clicks)).collect();
        assert_eq!(ids, [(first, 0), (second, 0)]);
        let rest = store.clicks_of_links(ada.user, Some(read[0].made), 9).await.unwrap();
        assert_eq!(rest, [read[1]]);
        assert_eq!(store.clicks_of_links(ada.user, None, 1).await.unwrap(), [read[0]]);
    }

    async fn links_are_found_among_numbers_in_their_order_where_they_are_the_owners_and_match(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let mut ids = Vec::new();
        for (owner, tags) in [(ada, ""), (ada, "a,b"), (bob, "a"), (ada, "b")] {
            let code = ShortCode::generate(7).unwrap();
            let properties = LinkProperties { tags: Tags::parse_list(tags).unwrap(), ..plain() };
            let new = NewLink::new(&code, &properties, owner, SystemClock.now());
            ids.push(store.create_link(new, 0).await.unwrap().link.id);
        }
        let among = async |owner, ids: &[LinkId], filter: &LinkFilter| {
            let found = store.links_among(owner, ids, filter, SystemClock.now()).await.unwrap();
            found.value.iter().map(|link| link.id).collect::<Vec<_>>()
        };
        let all = LinkFilter::default();
        let tagged = |tag| LinkFilter { tag: Some(SearchTag::parse(tag).unwrap()), ..LinkFilter::default() };
        assert_eq!(among(ada, &[ids[3], ids[2], ids[0]], &all).await, [ids[3], ids[0]]);
        assert_eq!(among(ada, &ids, &tagged("a")).await, [ids[1]]);
        assert_eq!(among(ada, &ids, &tagged("b")).await, [ids[1], ids[3]]);
        assert_eq!(among(ada, &[], &all).await, []);
        let ended = Principal { key: TokenKey::generate().unwrap(), ..ada };
        assert_eq!(among(ended, &ids, &all).await, []);
        for (filter, count) in [(all, 3), (tagged("b"), 2), (tagged("c"), 0)] {
            assert!(store.has_links(ada, &filter, count).await.unwrap());
            assert!(!store.has_links(ada, &filter, count + 1).await.unwrap());
            assert!(!store.has_links(ended, &filter, 1).await.unwrap());
        }
    }

    async fn of_links_made_at_once_exactly_as_many_as_an_account_may_have_are_made(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let (code, _) = link(&store, ada).await;
        let create = async |owner, most| {
            let code = ShortCode::generate(7).unwrap();
            let properties = plain();
            let new = NewLink::new(&code, &properties, owner, SystemClock.now());
            store.create_link(new, most).await
        };
        let at_once = futures_util::future::join_all((0..20).map(|_| create(ada, 8))).await;
        let made = at_once.iter().filter(|made| made.is_ok()).count();
        assert_eq!(made, 7, "with the one before there are eight");
        assert!(at_once.iter().all(|made| matches!(made, Ok(_) | Err(CreateLinkError::QuotaReached))));
        assert!(create(bob, 8).await.is_ok());
        assert!(create(ada, 0).await.is_ok(), "0 is no limit");
        assert!(matches!(create(ada, 9).await, Err(CreateLinkError::QuotaReached)));
        delete_link(&store, ada, &code).await;
        assert!(create(ada, 9).await.is_ok(), "a deleted link makes room");
        assert!(matches!(create(ada, 9).await, Err(CreateLinkError::QuotaReached)));
        store.by_hand("DELETE FROM links").await;
        assert!(create(ada, 1).await.is_ok(), "statements by hand are counted, too");
        assert!(matches!(create(ada, 1).await, Err(CreateLinkError::QuotaReached)));
        let properties = plain();
        let taken = NewLink::new(&code, &properties, bob, SystemClock.now());
        assert!(matches!(store.create_link(taken, 8).await, Err(CreateLinkError::CodeTaken)));
    }

    async fn the_newest_addresses_of_an_account_are_known_and_no_others(store) {
        let owner = user(&store).await;
        let email = store.user(owner).await.unwrap().unwrap().email;
        let other = "other@example.org".parse().unwrap();
        for address in 0..40 {
            let at = moment(1_800_000_000_000_000 + address);
            store.remember_address(owner.user, address, at).await.unwrap();
            store.remember_address(owner.user, 3, at).await.unwrap();
        }
        let mut known = Vec::new();
        for address in 0..40 {
            if store.knows_address(&email, address).await.unwrap() {
                known.push(address);
            }
            assert!(!store.knows_address(&other, address).await.unwrap());
        }
        let expected: Vec<i64> = std::iter::once(3).chain(9..40).collect();
        assert_eq!(known, expected);
        let gone = UserId(owner.user.0 + 1_000);
        store.remember_address(gone, 1, moment(1)).await.unwrap();
    }
}
