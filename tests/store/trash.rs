//! Bins: what is in them ends after its time, in steps.

use shunt::domain::{Clock, SystemClock, Timestamp};
use shunt::store::{CreateLinkError, Deletion, NewLink, Restored};

use crate::store::backend::{both_stores, link, moment, plain, user};

both_stores! {
    async fn links_that_were_long_in_a_bin_end_the_oldest_first(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let mut codes = Vec::new();
        for at in 1..=5 {
            let (code, _) = link(&store, ada).await;
            store.delete_link(ada, &code, None, Deletion::IntoBin(moment(at))).await.unwrap();
            codes.push(code);
        }
        let (kept, _) = link(&store, ada).await;
        assert_eq!(store.empty_bins(moment(4), 2).await.unwrap(), 2);
        assert_eq!(store.empty_bins(moment(4), 2).await.unwrap(), 1);
        assert_eq!(store.empty_bins(moment(4), 2).await.unwrap(), 0);
        let left = store.trashed_links(ada, None, moment(0), 10).await.unwrap().value;
        let left: Vec<_> = left.iter().map(|trashed| trashed.link.code.clone()).collect();
        assert_eq!(left, [codes[4].clone(), codes[3].clone()]);
        assert!(store.link_target(&kept).await.unwrap().is_some());
        let properties = plain();
        let of = |owner, code| NewLink { is_chosen: true, ..NewLink::new(code, &properties, owner, SystemClock.now()) };
        let taken = store.create_link(of(bob, &codes[0]), 0).await;
        assert!(matches!(taken, Err(CreateLinkError::CodeTaken)), "its code stays retired");
        assert!(store.create_link(of(ada, &codes[0]), 0).await.is_ok());
        let other_database = user(&store).await;
        assert!(store.trashed_links(other_database, None, moment(0), 10).await.unwrap().value.is_empty());
    }

    async fn what_was_longer_in_a_bin_than_is_allowed_is_not_shown_or_restored(store) {
        let owner = user(&store).await;
        let (code, _) = link(&store, owner).await;
        store.delete_link(owner, &code, None, Deletion::IntoBin(moment(5))).await.unwrap();
        assert!(store.trashed_links(owner, None, moment(6), 10).await.unwrap().value.is_empty());
        assert_eq!(store.restore_link(owner, &code, moment(6), 0).await.unwrap(), Restored::NotFound);
        let restored = store.restore_link(owner, &code, moment(5), 0).await.unwrap();
        assert!(matches!(restored, Restored::Done(own, changes) if own == code && changes.len() == 1));
    }

    async fn a_deleted_account_takes_its_bin_along(store) {
        let (ada, bob) = (user(&store).await, user(&store).await);
        let ((code, id), (kept, _)) = (link(&store, ada).await, link(&store, bob).await);
        for (owner, code) in [(ada, &code), (bob, &kept)] {
            store.delete_link(owner, code, None, Deletion::IntoBin(moment(1))).await.unwrap();
        }
        store.delete_user(ada, true, SystemClock.now()).await.unwrap().changes().unwrap();
        while store.remove_deleted_users(10).await.unwrap() {}
        assert_eq!(store.clicks_of_links(ada.user, None, 10).await.unwrap(), []);
        assert_eq!(store.trashed_links(bob, None, Timestamp::from_micros(0).unwrap(), 10).await.unwrap().value.len(), 1);
        assert!(id.number() > 0);
    }
}
