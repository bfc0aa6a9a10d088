//! Look-ups on the primary of a replica; the replica's own are in `tests/faults/replica.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use shunt::store::{PostgresReplica, Store};

use crate::store::backend::{link, user, with_primary};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_up_on_the_primary_goes_before_other_operations() {
    with_primary(async |primary, url| {
        let replica = PostgresReplica::new(Arc::clone(&primary), url, 5);
        let store = Store::of(primary);
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        let made = AtomicUsize::new(0);
        let others = join_all((0..300).map(async |_| {
            link(&store, owner).await;
            made.fetch_add(1, Ordering::Relaxed);
        }));
        let look_up = async {
            let (found, _) = replica.on_primary(&code).await.unwrap();
            assert_eq!(found.unwrap().id, id);
            made.load(Ordering::Relaxed)
        };
        let (_, made_before) = tokio::join!(others, look_up);
        assert!(
            made_before < 150,
            "{made_before} links were made before it was answered"
        );
    })
    .await;
}
