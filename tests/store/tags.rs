//! Tags: their totals, and other names for them, by steps.

use shunt::domain::LinkProperties;
use shunt::domain::{Clock, Principal, SearchTag, ShortCode, SystemClock, Tags};
use shunt::store::{NewLink, RETAGGED_IN_STEP, Store, WantedTags};

use super::backend::{both_stores, plain, user};

fn tag(name: &str) -> SearchTag {
    SearchTag::parse(name).unwrap()
}

async fn make(store: &Store, owner: Principal, tags: &str) {
    let code = ShortCode::generate(7).unwrap();
    let properties = LinkProperties {
        tags: Tags::parse_list(tags).unwrap(),
        ..plain()
    };
    let new = NewLink::new(&code, &properties, owner, SystemClock.now());
    store.create_link(new, 0).await.unwrap();
}

/// Each tag with its links.
async fn tags(store: &Store, owner: Principal) -> Vec<(String, u64)> {
    let wanted = WantedTags {
        owner,
        only: None,
        after: None,
        domain: None,
        limit: 100,
    };
    let found = store.tags_of(&wanted, &[]).await.unwrap();
    let totals = found.totals.into_values();
    totals.map(|totals| (totals.tag, totals.links)).collect()
}

both_stores! {
    async fn a_tag_is_renamed_step_by_step_and_any_step_may_be_the_last_before_a_crash(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let links = RETAGGED_IN_STEP + 2;
        for _ in 0..links {
            make(&store, ada, "old,new").await;
        }
        make(&store, bob, "old").await;
        let (old, new) = (tag("old"), tag("new"));
        let step = async || store.retag_some(ada, (&old, Some(&new)), SystemClock.now()).await.unwrap();
        assert_eq!(step().await, RETAGGED_IN_STEP);
        assert!(store.has_tag(ada, &old).await.unwrap());
        assert_eq!(tags(&store, ada).await, [("new".into(), links.into()), ("old".into(), 2)]);
        assert_eq!((step().await, step().await), (2, 0));
        assert!(!store.has_tag(ada, &old).await.unwrap());
        assert_eq!(tags(&store, ada).await, [("new".into(), links.into())]);
        assert_eq!(tags(&store, bob).await, [("old".into(), 1)]);
    }

    async fn tags_are_nobodys_with_another_key(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        make(&store, ada, "old").await;
        let stolen = Principal { key: bob.key, ..ada };
        let old = tag("old");
        assert_eq!(tags(&store, stolen).await, []);
        assert!(!store.has_tag(stolen, &old).await.unwrap());
        assert_eq!(store.retag_some(stolen, (&old, None), SystemClock.now()).await.unwrap(), 0);
        assert_eq!(tags(&store, ada).await, [("old".into(), 1)]);
    }
}
