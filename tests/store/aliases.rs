//! Codes of links and of aliases are one set, also for sessions that take a code at once; and an alias is counted by itself.

use futures_util::future::join_all;
use shunt::domain::{
    Aliases, Clock, Interval, Link, LinkId, LinkProperties, Principal, ShortCode, SystemClock,
    UserId,
};
use shunt::store::{
    ClickBatch, ClickDetails, CreateLinkError, Edited, LinkClicks, MergeRound, NewLink, Store,
};

use crate::store::backend::{both_stores, delete_link, link, plain, user};

fn code(text: &str) -> ShortCode {
    ShortCode::parse(text).unwrap()
}

fn with(aliases: &[&str]) -> LinkProperties {
    LinkProperties {
        aliases: Aliases::parse(aliases.iter().copied(), |_| false).unwrap(),
        ..plain()
    }
}

async fn make(
    store: &Store,
    owner: Principal,
    own: &str,
    aliases: &[&str],
) -> Result<LinkId, CreateLinkError> {
    let (own, properties) = (code(own), with(aliases));
    let new = NewLink {
        is_chosen: true,
        ..NewLink::new(&own, &properties, owner, SystemClock.now())
    };
    Ok(store.create_link(new, 0).await?.link.id)
}

async fn edit(store: &Store, owner: Principal, of: &ShortCode, aliases: &[&str]) -> Edited {
    let edit = |link: &Link| {
        Some(LinkProperties {
            aliases: with(aliases).aliases,
            ..link.properties.clone()
        })
    };
    store
        .edit_link(owner, of, &edit, 0, SystemClock.now())
        .await
        .unwrap()
}

both_stores! {
    async fn of_sessions_that_take_a_code_at_once_as_a_link_and_as_an_alias_one_has_it(store) {
        let owners = join_all((0..4).map(|_| user(&store))).await;
        let (edited, _) = link(&store, owners[3]).await;
        for round in 0..20 {
            let wanted = format!("wanted-{round}");
            let (own, list) = ([format!("a-{round}"), format!("b-{round}")], [wanted.as_str()]);
            let (as_link, as_alias, as_other, as_edit) = tokio::join!(
                make(&store, owners[0], &wanted, &[]),
                make(&store, owners[1], &own[0], &list),
                make(&store, owners[2], &own[1], &list),
                edit(&store, owners[3], &edited, &list),
            );
            let is_edited = match as_edit {
                Edited::Done(_) => true,
                Edited::AliasTaken(taken) => { assert_eq!(taken, code(&wanted)); false }
                other => panic!("{other:?}"),
            };
            for made in [&as_alias, &as_other] {
                assert!(matches!(made, Ok(_) | Err(CreateLinkError::AliasTaken(_))), "{made:?}");
            }
            let made = [as_link.is_ok(), as_alias.is_ok(), as_other.is_ok(), is_edited];
            assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
            assert!(store.link_target(&code(&wanted)).await.unwrap().is_some());
            // A link whose alias was taken is not made.
            assert_eq!(store.link_target(&code(&own[0])).await.unwrap().is_some(), made[1]);
        }
    }

    async fn an_alias_is_counted_by_itself_and_its_owner_once(store) {
        let owner = user(&store).await;
        let id = make(&store, owner, "own-code", &["alias"]).await.unwrap();
        let target = store.link_target(&code("alias")).await.unwrap().unwrap();
        let alias = target.alias.unwrap();
        assert_eq!((target.id, alias.link), (id, code("own-code")));
        let row = |link, owner, clicks| LinkClicks { link, owner, clicks };
        let batch = |number, clicks| ClickBatch {
            recorder: 7, number, interval: Interval::from_number(2_000_000 + number.cast_signed()), clicks, details: ClickDetails::default(),
        };
        let counts = async || {
            let found = store.clicks.counts(&[id, alias.id], None).await.unwrap();
            let mut counts: Vec<_> = found.clicks.into_iter().collect();
            counts.sort_unstable();
            counts
        };
        for number in 1..=20 {
            let clicks = vec![row(id, owner.user, 3), row(alias.id, UserId::NOBODY, 2)];
            store.clicks.append(&batch(number, clicks), None).await.unwrap();
            let expected = [(id, 3 * number), (alias.id, 2 * number)];
            assert_eq!(counts().await, expected);
            while !store.clicks.compact(&mut MergeRound::default()).await.unwrap().done {}
            assert_eq!(counts().await, expected);
        }
        store.by_hand("DELETE FROM links WHERE short_code = 'alias'").await;
        assert_eq!(counts().await, [(id, 60)]);
        store.by_hand("UPDATE links SET aliases = '[]'").await;
        assert!(delete_link(&store, owner, &code("own-code")).await.is_some());
        assert_eq!(counts().await, []);
    }

    async fn every_code_of_a_link_is_in_the_outbox_with_its_own_code(store) {
        let owner = user(&store).await;
        make(&store, owner, "own-code", &["one", "two"]).await.unwrap();
        let numbers = async || {
            let changes = store.unpublished_changes(0, 100).await.unwrap();
            let numbers: Vec<_> = changes.iter().map(|change| change.number).collect();
            let mut codes: Vec<_> = changes.into_iter().filter_map(|change| {
                let of_link = change.link.map_or_else(String::new, |link| link.to_string());
                Some((change.code?.to_string(), of_link))
            }).collect();
            codes.sort();
            codes.dedup();
            store.changes_published(&numbers, &[]).await.unwrap();
            codes
        };
        let all = |codes: &[(&str, &str)]| codes.iter().map(|(code, link)| ((*code).to_owned(), (*link).to_owned())).collect::<Vec<_>>();
        let every = all(&[("one", "own-code"), ("own-code", ""), ("two", "own-code")]);
        assert_eq!(numbers().await, every);
        store.by_hand("UPDATE links SET is_active = false WHERE short_code = 'own-code'").await;
        assert_eq!(numbers().await, every);
        let Edited::Done(edited) = edit(&store, owner, &code("two"), &["two", "three"]).await else { panic!() };
        assert_eq!(edited.link.value.code, code("own-code"));
        assert_eq!(numbers().await, all(&[("one", "own-code"), ("own-code", ""), ("three", "own-code"), ("two", "own-code")]));
        store.by_hand("DELETE FROM links WHERE short_code = 'own-code'").await;
        assert_eq!(numbers().await, all(&[("own-code", ""), ("three", "own-code"), ("two", "own-code")]));
        for gone in ["one", "two", "three", "own-code"] {
            assert!(store.link_target(&code(gone)).await.unwrap().is_none());
        }
    }
}
