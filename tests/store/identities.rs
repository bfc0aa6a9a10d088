//! People of an identity provider, and the accounts that are theirs.

use futures_util::future::join_all;
use shunt::domain::{Clock, EmailAddress, Principal, SystemClock, TokenKey};
use shunt::store::{
    Actor, CreateUserError, Identity, NewSession, ProviderSessions, SessionBy, Store,
};

use crate::store::backend::{both_stores, user};
use crate::support::unique;

const ISSUER: &str = "https://login.example.org";
const BY: Actor<'static> = Actor {
    user: None,
    address: "identity provider",
};

fn identity(subject: &str) -> Identity<'_> {
    Identity {
        issuer: ISSUER,
        subject,
    }
}

fn address() -> EmailAddress {
    format!("{}@example.org", unique()).parse().unwrap()
}

async fn created(store: &Store, subject: &str) -> Result<Principal, CreateUserError> {
    let key = TokenKey::generate().unwrap();
    let now = SystemClock.now();
    let user = store
        .create_identified_user(&address(), identity(subject), key, now)
        .await?;
    Ok(Principal { user, key })
}

async fn begun(store: &Store, owner: Principal, session: Option<&str>) -> TokenKey {
    let hash = TokenKey::generate().unwrap();
    let now = SystemClock.now();
    let new = NewSession {
        owner,
        hash,
        agent: "",
        created_at: now,
        expires_at: now.after(std::time::Duration::from_mins(1)),
        by: session.map_or(SessionBy::Password, SessionBy::Provider),
    };
    store.begin_session(new).await.unwrap();
    hash
}

both_stores! {
    async fn a_person_has_one_account_however_many_sign_ins_come_at_once(store) {
        let all = join_all((0..8).map(|_| created(&store, "ada"))).await;
        let (made, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
        assert_eq!(made.len(), 1);
        assert!(refused.iter().all(|refused| matches!(refused, Err(CreateUserError::EmailTaken))));
        let found = store.identified_user(identity("ada")).await.unwrap().unwrap();
        assert_eq!(found.principal, *made[0].as_ref().unwrap());
        assert!(!found.is_banned);
        assert!(store.identified_user(identity("bob")).await.unwrap().is_none());
        let elsewhere = Identity { issuer: "https://another.example", subject: "ada" };
        assert!(store.identified_user(elsewhere).await.unwrap().is_none());
    }

    async fn an_account_is_joined_once_and_by_its_key(store) {
        let owner = user(&store).await;
        let email = store.user(owner).await.unwrap().unwrap().email;
        let now = SystemClock.now();
        let found = store.user_to_join(&email, ISSUER).await.unwrap().unwrap();
        assert_eq!((found.principal, found.has_password, found.is_of_another), (owner, true, false));
        let stale = Principal { key: TokenKey::generate().unwrap(), ..owner };
        assert!(!store.join_identity(stale, identity("ada"), now).await.unwrap());
        assert!(store.join_identity(owner, identity("ada"), now).await.unwrap());
        assert!(!store.join_identity(owner, identity("ada"), now).await.unwrap(), "the person has an account");
        let found = store.user_to_join(&email, ISSUER).await.unwrap().unwrap();
        assert!(found.is_of_another);
        assert!(!store.user_to_join(&email, "https://another.example").await.unwrap().unwrap().is_of_another);
        assert_eq!(store.has_password(owner).await.unwrap(), Some(true));
        assert_eq!(store.has_password(stale).await.unwrap(), None);
    }

    async fn a_deleted_account_leaves_its_person_free(store) {
        let owner = created(&store, "ada").await.unwrap();
        assert_eq!(store.has_password(owner).await.unwrap(), Some(false));
        store.delete_user(owner, true, SystemClock.now()).await.unwrap().changes().unwrap();
        assert!(store.identified_user(identity("ada")).await.unwrap().is_none());
        created(&store, "ada").await.unwrap();
    }

    async fn a_group_gives_and_takes_the_role_and_the_audit_has_what_changed(store) {
        let owner = created(&store, "ada").await.unwrap();
        let set = async |is_admin| {
            store.set_role_by_group(owner, is_admin, BY, SystemClock.now()).await.unwrap()
        };
        for (is_admin, changes) in [(false, false), (true, true), (true, false), (false, true), (false, false)] {
            assert_eq!(set(is_admin).await, changes);
            assert_eq!(store.is_admin(owner).await.unwrap(), Some(is_admin));
        }
    }

    async fn the_provider_ends_its_own_sessions_only(store) {
        let (ada, bob) = (created(&store, "ada").await.unwrap(), created(&store, "bob").await.unwrap());
        let first = begun(&store, ada, Some("first")).await;
        let second = begun(&store, ada, Some("second")).await;
        let unnamed = begun(&store, ada, Some("")).await;
        let by_password = begun(&store, ada, None).await;
        let of_bob = begun(&store, bob, Some("third")).await;
        let end = async |subject, session| {
            let sessions = ProviderSessions { issuer: ISSUER, subject, session };
            store.end_provider_sessions(sessions).await.unwrap()
        };
        let open = async |hash| store.session(hash, SystemClock.now()).await.unwrap().is_some();
        assert_eq!(end(Some("bob"), Some("first")).await, []);
        assert_eq!(end(Some("ada"), Some("first")).await, [ada.user]);
        assert!(!open(first).await && open(second).await);
        assert_eq!(end(None, Some("third")).await, [bob.user]);
        assert!(!open(of_bob).await);
        assert_eq!(end(Some("ada"), None).await, [ada.user, ada.user]);
        assert!(!open(second).await && !open(unnamed).await && open(by_password).await);
        assert_eq!(end(None, None).await, []);
        assert_eq!(end(Some("nobody"), None).await, []);
    }
}
