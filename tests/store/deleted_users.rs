//! Accounts that are deleted: at once for everybody, and row by row in the database.

use shunt::domain::{Clock, ShortCode, SystemClock, TokenKey};
use shunt::store::{CreateLinkError, MAX_CHANGES_OF_ACCOUNT, NewLink, Store};

use crate::store::backend::{TestStore, both_stores, link, plain, user};

/// Removes what is left of deleted accounts; returns in how many steps.
async fn removed(store: &Store, limit: u32) -> usize {
    let mut steps = 0;
    while store.remove_deleted_users(limit).await.unwrap() {
        steps += 1;
        assert!(steps < 1_000, "it never ends");
    }
    steps
}

async fn unpublished(store: &Store) -> Vec<Option<ShortCode>> {
    let changes = store.unpublished_changes(0, 1_000).await.unwrap();
    changes.into_iter().map(|change| change.code).collect()
}

/// Links of the only account, one more than are announced one by one.
async fn very_many(store: &TestStore) {
    store
        .by_hand(
            "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10001)
             INSERT INTO links (short_code, target_url, owner_id, created_at)
             SELECT 'many-' || n, 'https://example.org/', (SELECT min(id) FROM users), (SELECT min(created_at) FROM users) FROM numbers",
        )
        .await;
}

both_stores! {
    async fn links_of_a_deleted_account_are_unknown_before_they_are_removed(store) {
        let (owner, other) = (user(&store).await, user(&store).await);
        let ((code, _), (kept, _)) = (link(&store, owner).await, link(&store, other).await);
        let changes = store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().unwrap();
        assert_eq!(changes.iter().map(|change| change.code.clone()).collect::<Vec<_>>(), [Some(code.clone())]);
        assert_eq!(unpublished(&store).await, [Some(code.clone())]);
        assert!(store.link_target(&code).await.unwrap().is_none());
        assert!(store.link_to_count(&code).await.unwrap().is_none());
        assert!(store.link_of(owner, &code).await.unwrap().is_none());
        assert!(store.link_target(&kept).await.unwrap().is_some());
    }

    async fn nothing_of_a_deleted_account_is_left_but_its_retired_codes(store) {
        let owner = user(&store).await;
        let mut codes = Vec::new();
        for _ in 0..5 {
            codes.push(link(&store, owner).await.0);
        }
        store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().unwrap();
        assert_eq!(removed(&store, 2).await, 4, "three steps for five links, and one for the account");
        assert_eq!(unpublished(&store).await.len(), 5, "removal announces nothing anew");
        let other = user(&store).await;
        let properties = plain();
        for code in &codes {
            assert!(store.link_target(code).await.unwrap().is_none());
            let new = NewLink { is_chosen: true, ..NewLink::new(code, &properties, other, SystemClock.now()) };
            assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::CodeTaken)));
        }
        assert_eq!(removed(&store, 2).await, 0);
    }

    async fn an_account_is_deleted_once_and_with_its_own_key_alone(store) {
        let owner = user(&store).await;
        let stranger = shunt::domain::Principal { key: TokenKey::generate().unwrap(), ..owner };
        assert!(store.delete_user(stranger, true, SystemClock.now()).await.unwrap().changes().is_none());
        assert!(store.user(owner).await.unwrap().is_some());
        assert!(store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().is_some());
        assert!(store.user(owner).await.unwrap().is_none());
        assert!(store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().is_none());
    }

    async fn the_deletion_of_very_many_links_is_one_change_that_may_be_of_any_link(store) {
        let owner = user(&store).await;
        very_many(&store).await;
        let changes = store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().unwrap();
        assert_eq!(changes.iter().map(|change| change.code.clone()).collect::<Vec<_>>(), [None]);
        let code = ShortCode::parse("many-7").unwrap();
        assert!(store.link_target(&code).await.unwrap().is_none());
        let steps = removed(&store, 2_000).await;
        assert_eq!(steps, MAX_CHANGES_OF_ACCOUNT as usize / 2_000 + 2);
        assert_eq!(unpublished(&store).await, [None]);
    }

    async fn another_key_ends_the_one_before(store) {
        let owner = user(&store).await;
        let key = TokenKey::generate().unwrap();
        assert!(store.end_tokens(owner, key).await.unwrap());
        assert!(store.user(owner).await.unwrap().is_none());
        assert!(!store.end_tokens(owner, key).await.unwrap());
        let now = shunt::domain::Principal { key, ..owner };
        assert_eq!(store.credentials_of(now).await.unwrap().unwrap().password_hash, "hash");
        let newest = TokenKey::generate().unwrap();
        assert!(!store.change_password(owner, "other", newest).await.unwrap());
        assert!(store.change_password(now, "other", newest).await.unwrap());
        let newest = shunt::domain::Principal { key: newest, ..owner };
        assert_eq!(store.credentials_of(newest).await.unwrap().unwrap().password_hash, "other");
    }
}
