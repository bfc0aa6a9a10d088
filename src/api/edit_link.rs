//! `PATCH /urls/{short_code}`: changes a link.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::authentication::ActingPerson;
use super::base_address::BaseAddress;
use super::entity_tags::expected;
use super::link_body::{View, one_link};
use crate::accounts::Accounts;
#[cfg(test)]
use crate::http::documented::{
    CodeParameter, ErrorBody, Limited, NeedsDatabase, NeedsRoom, NeedsToken, NeedsWriteKey,
    TakesBody,
};
use crate::http::{ApiError, ClientAddress, JsonBody, PathCode};
use crate::links::{LinkService, Mover};
#[cfg(test)]
use crate::wire::FullLinkBody;
use crate::wire::LinkPatch;

/// Change one of your links.
///
/// A JSON merge patch: fields that are named change, all others stay. The change is felt on every instance once this is
/// answered. The code itself never changes, and clicks stay counted. `owner` moves the link to a group, or back: it keeps its codes, clicks
/// and history, and counts for what the new owner may have. A committed change is answered 200, even if its exact click
/// count cannot be read.
#[utoipa::path(
    patch, path = "/urls/{short_code}", tag = "links", operation_id = "edit",
    params(
        CodeParameter,
        ("If-Match" = Option<String>, Header, description = "Revisions from an `ETag`: the link is changed only in one of these states"),
    ),
    request_body(content = LinkPatch, content_type = "application/merge-patch+json"),
    security(("bearer" = [])),
    responses(
        (status = 200, description = "The link as it is now", body = FullLinkBody, headers(
            ("Link" = String, description = "`<…>; rel=\"shortlink\"`: the address that people share"),
            ("ETag" = String, description = "The revision of the link, for `If-Match`"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 404, description = "No link of yours has this code", body = ErrorBody,
            example = json!({"detail": "URL not found"})),
        (status = 409, description = "The administrators of this service removed the link: it can be deleted, and nothing else. Or an alias is taken",
            body = ErrorBody, examples(
            ("removed" = (value = json!({"detail": "URL removed"}))),
            ("aliases" = (value = json!({"detail": "aliases: spring is taken"}))),
        )),
        (status = 412, description = "The link is in none of the states of `If-Match`", body = ErrorBody,
            example = json!({"detail": "If-Match: the link was changed meanwhile; read it again"})),
        TakesBody, NeedsToken, NeedsWriteKey, Limited, NeedsRoom, NeedsDatabase,
    ),
)]
#[expect(clippy::too_many_arguments, reason = "each is a part of the request")]
pub(super) async fn edit(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    ActingPerson { owner, person }: ActingPerson,
    PathCode(code): PathCode,
    client: ClientAddress,
    headers: HeaderMap,
    patch: Result<JsonBody<LinkPatch>, ApiError>,
) -> Result<Response, ApiError> {
    let edit = patch.and_then(|JsonBody(patch)| {
        let new_owner = patch.0.new_owner().map_err(ApiError::invalid)?;
        let edit = patch.0.edit(&links.own_host, links.is_reserved);
        Ok((edit.map_err(ApiError::invalid)?, new_owner))
    });
    let edited = match (&code, &edit) {
        (Some(code), Ok((_, Some(new_owner)))) => {
            let address = client.as_str();
            let person = person.ok_or_else(ApiError::key_for_group)?;
            let mover = Mover {
                person: person.user,
                to: accounts.new_owner(person, *new_owner, address).await?,
                address,
            };
            links
                .move_link(owner, code, &expected(&headers), &mover)
                .await?
        }
        (Some(code), Ok((edit, None))) => {
            let expected = expected(&headers);
            links
                .edit(owner, code, edit, &expected, client.as_str())
                .await?
        }
        _ => None,
    };
    let Some(edited) = edited else {
        // An edit would have shown that the account still exists.
        accounts.user(owner).await?;
        edit?;
        return Err(ApiError::url_not_found());
    };
    Ok(one_link(
        &edited,
        View::Full,
        links.clock.now(),
        &base_address,
    ))
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;
    use proptest::sample::{select, subsequence};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::config::BaseUrl;
    use crate::domain::{
        InvalidProperty, Link, LinkId, LinkProperties, LinkStatus, OwnHost, ShortCode, Timestamp,
        UserId, any_properties,
    };
    use crate::http::parse_object;
    use crate::wire::{DocumentKind, Field, LinkFields, Value as FieldValue};

    fn own_host() -> OwnHost {
        BaseUrl::parse("https://sho.rt").unwrap().own_host().clone()
    }

    fn before() -> impl Strategy<Value = LinkProperties> {
        let texts = [
            "https://[a-z]{1,5}\\.example/",
            "[a-z]{1,9}",
            "[a-c]",
            "[a-z\n]{1,9}",
        ];
        any_properties(texts, 9)
    }

    /// As a response shows them.
    fn shown(properties: LinkProperties) -> Value {
        let link = Link {
            id: LinkId::LAST,
            code: ShortCode::parse("abcd").unwrap(),
            owner: UserId(1),
            made_by: UserId(1),
            properties,
            created_at: Timestamp::MAX,
            updated_at: Timestamp::MAX,
            removed: None,
        };
        let body = FullLinkBody::new(&link, String::new(), 0, LinkStatus::Active);
        serde_json::to_value(body).unwrap()
    }

    /// Values of a field: its own, `null`, and others.
    fn values(field: &Field) -> BoxedStrategy<Value> {
        let own: BoxedStrategy<Value> = match (field.value)(&mut LinkFields::default()) {
            FieldValue::Text(_) if field.name.ends_with("_url") => "https://[a-z]{1,5}\\.example/"
                .prop_map(Value::from)
                .boxed(),
            FieldValue::Text(_) => "[a-zé ]{1,9}".prop_map(Value::from).boxed(),
            FieldValue::Secret(_) => "[a-zé ]{4,9}".prop_map(Value::from).boxed(),
            FieldValue::Words(_) => subsequence(vec!["a", "b", "c"], 0..=3)
                .prop_map(Value::from)
                .boxed(),
            FieldValue::Moment(_) if field.name == "starts_at" => {
                Just(Value::from("2026-01-31T17:00:00Z")).boxed()
            }
            FieldValue::Moment(_) => Just(Value::from("2027-01-31T17:00:00Z")).boxed(),
            FieldValue::Limit(_) => (1..9_u64).prop_map(Value::from).boxed(),
            FieldValue::Flag(_) => any::<bool>().prop_map(Value::from).boxed(),
            FieldValue::Rules(_) => select(vec![
                json!([{"target_url": "https://a.example/"}]),
                json!([{"name": "b", "target_url": "https://b.example/", "when": {"device": "tv"}}]),
            ])
            .boxed(),
            FieldValue::Owner(_) => select(vec![json!("me"), json!(7)]).boxed(),
            FieldValue::Count(_) | FieldValue::Ignored(_) => {
                panic!("{} is in no patch", field.name)
            }
        };
        let others = select(vec![
            json!("soon"),
            json!(-1),
            json!([1]),
            json!({}),
            json!(true),
        ]);
        prop_oneof![6 => own, 3 => Just(Value::Null), 1 => others].boxed()
    }

    fn patches() -> impl Strategy<Value = Value> {
        let fields = || DocumentKind::Patch.fields();
        let values: Vec<_> = fields().map(|field| of(values(field))).collect();
        values.prop_map(move |values| {
            let named = fields().zip(values);
            let named = named.filter_map(|(field, value)| Some((field.name.to_owned(), value?)));
            Value::Object(named.collect::<Map<_, _>>())
        })
    }

    proptest! {
        #[test]
        fn a_merge_patch_changes_what_it_names_and_nothing_else(patch in patches(), before in before()) {
            let parsed = parse_object::<LinkPatch>(patch.to_string().as_bytes());
            let parsed = parsed.and_then(|patch| patch.0.edit(&own_host(), |_| false));
            let named = patch.as_object().unwrap();
            match parsed {
                Ok(edit) => {
                    let mut expected = shown(before.clone());
                    let bare = shown(LinkProperties::of(before.target.clone()));
                    for (field, value) in named {
                        // A link is moved otherwise.
                        if field == "owner" {
                            continue;
                        }
                        // A new one is hashed before the edit is applied.
                        if field == "password" {
                            if value.is_null() {
                                expected["has_password"] = false.into();
                            }
                            continue;
                        }
                        let value = if value.is_null() { &bare[field] } else { value };
                        expected[field] = value.clone();
                    }
                    match edit.apply(&before) {
                        Ok(edited) => prop_assert_eq!(shown(edited), expected),
                        Err(why) => {
                            prop_assert_eq!(why, InvalidProperty::StartsAfterEnd);
                            prop_assert!(["starts_at", "expires_at"].iter().any(|field| named.contains_key(*field)));
                        }
                    }
                }
                Err(refusal) => {
                    let field = refusal.split([':', '[']).next().unwrap();
                    prop_assert!(named.contains_key(field), "{}", refusal);
                }
            }
        }
    }
}
