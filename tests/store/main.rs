//! The contract of the store, which both implementations keep.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod backend;
mod clicks;
mod file;
mod links;
mod recorders;
mod replica;
mod upgrade;

use backend::both_stores;
use shunt::domain::{Clock, EmailAddress, SystemClock, UserId};
use shunt::store::CreateUserError;

both_stores! {
    async fn a_user_is_found_by_address_in_any_case(store) {
        let email: EmailAddress = "Ada@Example.org".parse().unwrap();
        let id = store.users.create_user(&email, "hash", SystemClock.now()).await.unwrap();
        let found = store.users.credentials(&"ADA@example.ORG".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!((found.user, found.password_hash.as_str()), (id, "hash"));
        assert_eq!(store.users.user(id).await.unwrap().unwrap().email, email);
    }

    async fn an_address_is_unique_in_every_case(store) {
        store.users.create_user(&"ada@example.org".parse().unwrap(), "hash", SystemClock.now()).await.unwrap();
        let again = store.users.create_user(&"ADA@example.org".parse().unwrap(), "hash", SystemClock.now()).await;
        assert!(matches!(again, Err(CreateUserError::EmailTaken)));
    }

    async fn the_number_of_shards_is_noted_by_the_first_of_several_instances(store) {
        let database = &store.database;
        assert_eq!(database.redis_shards("shunt").await.unwrap(), None);
        assert!(!database.note_redis_shards("shunt", Some(8), 16).await.unwrap());
        assert!(database.note_redis_shards("shunt", None, 32).await.unwrap());
        assert!(!database.note_redis_shards("shunt", None, 8).await.unwrap());
        assert!(!database.note_redis_shards("shunt", Some(8), 16).await.unwrap());
        assert_eq!(database.redis_shards("shunt").await.unwrap(), Some(32));
        assert!(database.note_redis_shards("shunt", Some(32), 256).await.unwrap());
        assert_eq!(database.redis_shards("shunt").await.unwrap(), Some(256));
        assert_eq!(database.redis_shards("other").await.unwrap(), None);
    }

    async fn an_unknown_user_is_none(store) {
        assert!(store.users.credentials(&"nobody@example.org".parse().unwrap()).await.unwrap().is_none());
        assert!(store.users.user(UserId(999)).await.unwrap().is_none());
    }
}
