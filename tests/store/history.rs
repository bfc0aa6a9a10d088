//! What an instance knows of a Postgres that went back.

use shunt::store::Store;
use sqlx::{Connection, PgConnection};

use crate::store::backend::{link, user, with_primary};

/// As if another instance had found the server that took over first: it has begun a new history there.
const LOST: &str = "
    SET session_replication_role = replica;
    DELETE FROM links;
    UPDATE database_history SET id = 'of another instance'";

#[tokio::test]
async fn a_link_made_just_before_the_check_does_not_hide_that_the_one_before_is_lost() {
    with_primary(async |primary, url| {
        let store = Store::of(primary);
        let owner = user(&store).await;
        link(&store, owner).await;
        let check = async || store.check_history(None).await.unwrap().unwrap();
        assert!(!check().await.went_back);
        let mut by_hand = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(LOST).execute(&mut by_hand).await.unwrap();
        link(&store, owner).await;
        assert!(check().await.went_back);
        assert!(!check().await.went_back, "it is told once");
    })
    .await;
}
