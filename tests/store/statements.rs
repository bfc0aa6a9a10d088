//! Statements: kept once, in order, and gone with their link.

use shunt::domain::{LinkId, Month, StatementKey, StatementPublicKey};
use shunt::store::{Issued, NewStatements, Store};

use crate::store::backend::{both_stores, delete_link, link, moment, user};

fn month(text: &str) -> Month {
    Month::parse(text).unwrap()
}

fn key() -> StatementPublicKey {
    StatementKey::parse(&StatementKey::generate().unwrap())
        .unwrap()
        .public()
}

/// Keeps statements of these months, after another month.
async fn issue(
    store: &Store,
    (link, zone): (LinkId, &str),
    after: Option<&str>,
    months: &[(&str, &str)],
) -> Issued {
    let statements: Vec<_> = months
        .iter()
        .map(|(of, document)| (month(of), (*document).to_owned()))
        .collect();
    let new = NewStatements {
        link,
        zone,
        after: after.map(month),
        statements: &statements,
        key: key(),
        at: moment(7),
        max_zones: 2,
    };
    store.issue_statements(&new).await.unwrap()
}

both_stores! {
    async fn statements_follow_each_other_and_never_change(store) {
        let (owner, other) = (user(&store).await, user(&store).await);
        let (code, id) = link(&store, owner).await;
        let of = async |owner, zone, text| store.statement(owner, &code, zone, month(text)).await.unwrap();
        let utc = (id, "UTC");
        assert_eq!(store.newest_statement(id, "UTC").await.unwrap(), None);
        assert_eq!(issue(&store, utc, Some("2026-08"), &[("2026-09", "x")]).await, Issued::Overtaken);
        assert_eq!(issue(&store, utc, None, &[("2026-09", "nine"), ("2026-10", "ten")]).await, Issued::Done);
        for after in [None, Some("2026-09"), Some("2026-11")] {
            assert_eq!(issue(&store, utc, after, &[("2026-11", "x")]).await, Issued::Overtaken);
        }
        assert_eq!(store.newest_statement(id, "UTC").await.unwrap(), Some((month("2026-10"), "ten".to_owned())));
        assert_eq!(issue(&store, utc, Some("2026-10"), &[("2026-11", "eleven")]).await, Issued::Done);
        assert_eq!(of(owner, "UTC", "2026-09").await.as_deref(), Some("nine"));
        assert_eq!(of(owner, "UTC", "2026-11").await.as_deref(), Some("eleven"));
        for (owner, zone, text) in [(other, "UTC", "2026-09"), (owner, "Asia/Tokyo", "2026-09"), (owner, "UTC", "2026-12")] {
            assert_eq!(of(owner, zone, text).await, None);
        }
    }

    async fn a_link_has_statements_in_so_many_zones(store) {
        let owner = user(&store).await;
        let (_, id) = link(&store, owner).await;
        for zone in ["UTC", "Asia/Tokyo"] {
            assert_eq!(issue(&store, (id, zone), None, &[("2026-09", "nine")]).await, Issued::Done);
        }
        let refused = issue(&store, (id, "Asia/Kolkata"), None, &[("2026-09", "nine")]).await;
        assert_eq!(refused, Issued::ManyZones(vec!["Asia/Tokyo".to_owned(), "UTC".to_owned()]));
        assert_eq!(issue(&store, (id, "UTC"), Some("2026-09"), &[("2026-10", "ten")]).await, Issued::Done);
    }

    async fn statements_end_with_their_link_and_their_keys_stay(store) {
        let owner = user(&store).await;
        let (code, id) = link(&store, owner).await;
        assert_eq!(store.statement_keys().await.unwrap(), []);
        assert_eq!(issue(&store, (id, "UTC"), None, &[("2026-09", "nine")]).await, Issued::Done);
        assert!(delete_link(&store, owner, &code).await.is_some());
        assert_eq!(store.newest_statement(id, "UTC").await.unwrap(), None);
        assert_eq!(issue(&store, (id, "UTC"), None, &[("2026-09", "nine")]).await, Issued::NoLink);
        assert_eq!(store.statement_keys().await.unwrap().len(), 1);
    }
}
