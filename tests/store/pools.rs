//! Pools: what is taken from them is taken once.

use shunt::domain::{Clock, OwnHost, PoolId, PoolTargets, SystemClock};
use shunt::store::{Added, Emptied, PoolState, PoolTake, Store};

use crate::store::backend::{both_stores, link, user};

const POOL: i64 = 7;

fn pool() -> PoolId {
    PoolId::parse(POOL).unwrap()
}

/// Targets whose last part is their number.
fn targets(from: usize, count: usize) -> PoolTargets {
    let line = |number| format!("https://example.org/{number}\n");
    let text: String = (from..from + count).map(line).collect();
    PoolTargets::parse(text.as_bytes(), &OwnHost::unknown()).unwrap()
}

/// The numbers of the targets that a process gets for its question.
async fn take(store: &Store, process: u64, number: u64, targets: u64) -> Vec<usize> {
    let take = PoolTake {
        pool: pool(),
        process,
        number,
        targets,
    };
    let taken = store.take_from_pool(take, SystemClock.now()).await.unwrap();
    let number = |target: &shunt::domain::TargetUrl| {
        target.as_str().rsplit('/').next().unwrap().parse().unwrap()
    };
    taken.iter().map(number).collect()
}

both_stores! {
    async fn a_question_that_is_asked_again_gets_the_same_targets(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let added = store.add_to_pool(owner, &code, &targets(0, 200), pool()).await.unwrap();
        assert!(matches!(added, Added::Done(PoolState { left: 200, given: 0 }, _)));
        let first: Vec<_> = (0..70).collect();
        assert_eq!(take(&store, 1, 1, 70).await, first);
        assert_eq!(take(&store, 2, 1, 1).await, [70]);
        assert_eq!(take(&store, 1, 1, 70).await, first);
        assert_eq!(take(&store, 1, 2, 2).await, [71, 72]);
        assert_eq!(take(&store, 2, 2, 1_000).await, (73..200).collect::<Vec<_>>());
        assert!(take(&store, 1, 3, 5).await.is_empty());
        let state = store.pool_state(owner, &code).await.unwrap();
        assert_eq!(state, Some(PoolState { left: 0, given: 200 }));
    }

    async fn targets_that_are_added_in_several_calls_are_taken_in_order(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        let mut from = 0;
        for count in [1, 63, 64, 65, 130] {
            store.add_to_pool(owner, &code, &targets(from, count), pool()).await.unwrap();
            from += count;
        }
        let mut taken = Vec::new();
        for number in 1.. {
            let some = take(&store, 1, number, 7).await;
            if some.is_empty() {
                break;
            }
            taken.extend(some);
        }
        assert_eq!(taken, (0..from).collect::<Vec<_>>());
    }

    async fn an_emptied_pool_gives_nothing_to_a_process_that_knew_it(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        store.add_to_pool(owner, &code, &targets(0, 3), pool()).await.unwrap();
        assert_eq!(take(&store, 1, 1, 1).await, [0]);
        let new = PoolId::parse(8).unwrap();
        let emptied = store.empty_pool(owner, &code, new, false).await.unwrap();
        assert!(matches!(emptied, Emptied::Done(_)));
        assert!(take(&store, 1, 1, 1).await.is_empty());
        assert!(take(&store, 1, 2, 1).await.is_empty());
        let state = store.pool_state(owner, &code).await.unwrap();
        assert_eq!(state, Some(PoolState { left: 0, given: 1 }));
    }

    async fn a_pool_has_no_more_targets_than_it_may_have(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        store.add_to_pool(owner, &code, &targets(0, PoolTargets::MAX - 1), pool()).await.unwrap();
        let added = store.add_to_pool(owner, &code, &targets(0, 2), pool()).await.unwrap();
        assert_eq!(added, Added::NoRoom(1));
        let state = store.pool_state(owner, &code).await.unwrap();
        assert_eq!(state.unwrap().left, PoolTargets::MAX as u64 - 1);
    }

    async fn processes_that_take_at_once_get_each_target_once(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        store.add_to_pool(owner, &code, &targets(0, 300), pool()).await.unwrap();
        let calls = (0..100).map(|process| take(&store, process, 1, 4));
        let taken = futures_util::future::join_all(calls).await;
        let mut taken: Vec<_> = taken.into_iter().flatten().collect();
        taken.sort_unstable();
        assert_eq!(taken, (0..300).collect::<Vec<_>>());
    }
}
