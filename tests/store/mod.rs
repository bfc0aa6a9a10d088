//! The contract of the store, which both implementations keep.

mod additive;
mod administered;
mod aliases;
mod backend;
mod class_merges;
mod class_quarters;
mod class_sums;
mod click_limits;
mod clicks;
mod deleted;
mod deleted_users;
mod detail_room;
mod details;
mod file;
mod history;
mod identities;
mod links;
mod migrations;
mod owner_series;
mod parts;
mod pools;
mod recorders;
mod removals;
mod replica;
mod series;
mod statements;
mod tags;
mod trash;

use backend::{both_stores, delete_link, link, plain, user};
use shunt::domain::{Clock, EmailAddress, Principal, ShortCode, SystemClock, TokenKey, UserId};
use shunt::store::{CreateLinkError, CreateUserError, NewLink};

/// Two accounts, as a person makes them.
const BY_HAND: &str = "
    INSERT INTO users (email, email_key, password_hash, created_at)
    SELECT name, name, 'hash', created_at FROM users, (SELECT 'ada@example.org' AS name UNION ALL SELECT 'bob@example.org') AS made";

both_stores! {
    async fn a_user_is_found_by_address_in_any_case(store) {
        let email: EmailAddress = "Ada@Example.org".parse().unwrap();
        let key = TokenKey::generate().unwrap();
        let user = store.create_user(&email, "hash", key, SystemClock.now()).await.unwrap();
        let principal = Principal { user, key };
        let found = store.credentials(&"ADA@example.ORG".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!((found.principal, found.password_hash.as_str()), (principal, "hash"));
        assert_eq!(store.user(principal).await.unwrap().unwrap().email, email);
    }

    async fn an_address_is_unique_in_every_case(store) {
        let create = async |email: &str| {
            let key = TokenKey::generate().unwrap();
            store.create_user(&email.parse().unwrap(), "hash", key, SystemClock.now()).await
        };
        create("ada@example.org").await.unwrap();
        let again = create("ADA@example.org").await;
        assert!(matches!(again, Err(CreateUserError::EmailTaken)));
    }

    async fn the_number_of_shards_is_noted_by_the_first_of_several_instances(store) {
        assert_eq!(store.redis_shards("shunt").await.unwrap(), None);
        assert!(!store.note_redis_shards("shunt", Some(8), 16).await.unwrap());
        assert!(store.note_redis_shards("shunt", None, 32).await.unwrap());
        assert!(!store.note_redis_shards("shunt", None, 8).await.unwrap());
        assert!(!store.note_redis_shards("shunt", Some(8), 16).await.unwrap());
        assert_eq!(store.redis_shards("shunt").await.unwrap(), Some(32));
        assert!(store.note_redis_shards("shunt", Some(32), 256).await.unwrap());
        assert_eq!(store.redis_shards("shunt").await.unwrap(), Some(256));
        assert_eq!(store.redis_shards("other").await.unwrap(), None);
    }

    async fn an_unknown_user_is_none(store) {
        assert!(store.credentials(&"nobody@example.org".parse().unwrap()).await.unwrap().is_none());
        let unknown = Principal { user: UserId(999), key: TokenKey::generate().unwrap() };
        assert!(store.user(unknown).await.unwrap().is_none());
    }

    async fn an_account_with_another_key_is_none_and_owns_nothing(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let other = Principal { key: TokenKey::generate().unwrap(), ..owner };
        assert!(store.user(other).await.unwrap().is_none());
        assert!(store.links_of(other, None, 10).await.unwrap().value.is_empty());
        assert!(delete_link(&store, other, &code).await.is_none());
        let (other_code, properties) = (ShortCode::generate(7).unwrap(), plain());
        let new = NewLink::new(&other_code, &properties, other, SystemClock.now());
        assert!(matches!(store.create_link(new, 0).await, Err(CreateLinkError::OwnerGone)));
        assert_eq!(store.links_of(owner, None, 10).await.unwrap().value.len(), 1);
    }

    async fn an_account_that_was_made_by_hand_has_a_key_of_its_own(store) {
        user(&store).await;
        store.by_hand(BY_HAND).await;
        let mut keys = Vec::new();
        for email in ["ada@example.org", "bob@example.org"] {
            let found = store.credentials(&email.parse().unwrap()).await.unwrap().unwrap();
            assert!(store.user(found.principal).await.unwrap().is_some());
            keys.push(found.principal.key);
        }
        assert_ne!(keys[0], keys[1]);
    }
}
