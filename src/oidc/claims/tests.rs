//! Tests of what tokens must say. Their signatures are tests of the real provider, and of the tests' own.

use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

fn expected() -> Expected<'static> {
    Expected {
        issuer: "https://login.example.org",
        client: "shunt",
        now: Timestamp::from_micros(NOW * 1_000_000).unwrap(),
    }
}

fn token(changes: &[(&str, Value)]) -> Value {
    let mut token = json!({
        "iss": "https://login.example.org", "aud": "shunt", "sub": "7", "nonce": "n",
        "iat": NOW, "exp": NOW + 300,
    });
    for (name, value) in changes {
        token[*name] = value.clone();
    }
    token
}

fn checked(changes: &[(&str, Value)]) -> Result<Claims, TokenFault> {
    let token: IdToken = serde_json::from_value(token(changes)).unwrap();
    token.checked(&expected(), "n")
}

#[test]
fn an_id_token_is_for_this_client_of_this_provider_and_for_this_sign_in() {
    assert_eq!(checked(&[]).unwrap().subject(), "7");
    for (name, value, fault) in [
        (
            "iss",
            json!("https://login.example.org/"),
            TokenFault::Issuer,
        ),
        ("iss", Value::Null, TokenFault::Issuer),
        ("aud", json!("other"), TokenFault::Audience),
        ("aud", json!(["other"]), TokenFault::Audience),
        ("aud", json!([]), TokenFault::Audience),
        ("aud", Value::Null, TokenFault::Claim("aud")),
        (
            "aud",
            json!(["shunt", "other"]),
            TokenFault::AuthorizedParty,
        ),
        ("azp", json!("other"), TokenFault::AuthorizedParty),
        ("nonce", json!("m"), TokenFault::Nonce),
        ("nonce", Value::Null, TokenFault::Nonce),
        ("events", json!({}), TokenFault::Nonce),
        ("sub", json!(""), TokenFault::Claim("sub")),
        ("sub", json!("a\u{0}"), TokenFault::Claim("sub")),
        ("sub", json!("a".repeat(256)), TokenFault::Claim("sub")),
        ("exp", Value::Null, TokenFault::Claim("exp")),
        ("iat", Value::Null, TokenFault::Claim("iat")),
    ] {
        assert_eq!(
            checked(&[(name, value.clone())]).err(),
            Some(fault),
            "{name} {value}"
        );
    }
    let several = [("aud", json!(["other", "shunt"])), ("azp", json!("shunt"))];
    assert!(checked(&several).is_ok());
}

#[test]
fn clocks_may_differ_by_a_minute() {
    for (name, at, fault) in [
        ("exp", NOW - 59, None),
        ("exp", NOW - 60, Some(TokenFault::Expired)),
        ("iat", NOW + 60, None),
        ("iat", NOW + 61, Some(TokenFault::Early)),
        ("nbf", NOW + 60, None),
        ("nbf", NOW + 61, Some(TokenFault::Early)),
    ] {
        assert_eq!(checked(&[(name, json!(at))]).err(), fault, "{name} {at}");
    }
    assert!(checked(&[("exp", json!(1_800_000_000.5))]).is_ok());
}

#[test]
fn an_address_is_verified_only_if_the_provider_says_so() {
    for (name, value, is_verified) in [
        ("email_verified", json!(true), true),
        ("email_verified", json!("true"), true),
        ("email_verified", json!(false), false),
        ("email_verified", json!("false"), false),
        ("email_verified", json!("yes"), false),
        ("email_verified", json!({}), false),
        ("xms_edov", json!(true), true),
        ("xms_edov", json!("1"), true),
        ("xms_edov", json!(1), true),
        ("xms_edov", json!(0), false),
        ("other", json!(true), false),
    ] {
        let claims = checked(&[(name, value.clone())]).unwrap();
        assert_eq!(claims.is_email_verified(), is_verified, "{name} {value}");
    }
}

#[test]
fn what_the_user_info_says_is_of_the_same_person_and_an_address_comes_with_its_own_mark() {
    let of = |value: Value| serde_json::from_value::<Claims>(value).unwrap();
    let id = of(json!({"sub": "7", "email": "a@example.org"}));
    let info =
        of(json!({"sub": "7", "email": "b@example.org", "email_verified": true, "groups": ["g"]}));
    let both = id.with(info.clone()).unwrap();
    assert_eq!(both.email(), Some("a@example.org"));
    assert!(!both.is_email_verified());
    assert_eq!(both.is_in_group("g"), Some(true));
    assert_eq!(both.is_in_group("h"), Some(false));
    let other = of(json!({"sub": "8"}));
    assert_eq!(other.with(info).err(), Some(TokenFault::Subject));
    assert_eq!(of(json!({"sub": "7"})).is_in_group("g"), None);
}

#[test]
fn a_logout_token_names_the_event_and_whose_sessions_end() {
    let whole = json!({
        "iss": "https://login.example.org", "aud": "shunt", "iat": NOW, "exp": NOW + 120, "sub": "7", "sid": "s",
        "events": {LOGOUT: {}},
    });
    let read = |changes: &[(&str, Value)]| {
        let mut token = whole.clone();
        for (name, value) in changes {
            token[*name] = value.clone();
        }
        let token: LogoutToken = serde_json::from_value(token).unwrap();
        token.checked(&expected())
    };
    let claims = read(&[]).unwrap();
    assert_eq!(claims.subject.as_deref(), Some("7"));
    assert_eq!(claims.session.as_deref(), Some("s"));
    for (name, value, fault) in [
        ("events", Value::Null, TokenFault::Claim("events")),
        ("events", json!({LOGOUT: "x"}), TokenFault::Claim("events")),
        ("nonce", json!("n"), TokenFault::Nonce),
        ("aud", json!("other"), TokenFault::Audience),
        ("exp", json!(NOW - 60), TokenFault::Expired),
        ("sid", json!("a\n"), TokenFault::Claim("sub or sid")),
    ] {
        assert_eq!(read(&[(name, value)]).err(), Some(fault), "{name}");
    }
    let nobody = [("sub", Value::Null), ("sid", Value::Null)];
    assert_eq!(read(&nobody).err(), Some(TokenFault::Claim("sub or sid")));
    let old = [("exp", Value::Null), ("iat", json!(NOW - 361))];
    assert_eq!(read(&old).err(), Some(TokenFault::Expired));
}
