use axum::http::StatusCode;
use axum::response::IntoResponse;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Builder;

use super::*;
use crate::http::paths::parse_code;

#[derive(Debug, PartialEq, Deserialize)]
struct Account {
    email: String,
    password: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Parameters {
    target_url: String,
    limit: Option<String>,
}

async fn refusal(body: impl Into<Body>) -> (StatusCode, String) {
    let request = Request::new(body.into());
    let Err(error) = JsonBody::<Account>::from_request(request, &()).await else {
        return (StatusCode::OK, String::new());
    };
    let response = error.into_response();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 10_000)
        .await
        .unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    (status, body["detail"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_bad_body_is_answered_with_a_sentence_that_names_the_field() {
    for (body, detail) in [
        ("", "body: must be a JSON object, but is empty"),
        (" \n", "body: must be a JSON object, but is empty"),
        (
            "{",
            "body: must be a JSON object, but is malformed at line 1, column 1: it ends too early",
        ),
        (
            "[[[[",
            "body: must be a JSON object, but is malformed at line 1, column 4: it ends too early",
        ),
        (
            "{\"email\":\"a\",\n \"password\":\"geheim\" x}",
            "body: must be a JSON object, but is malformed at line 2, column 22: a comma or the closing bracket is missing",
        ),
        ("[1, 2]", "body: must be a JSON object"),
        (r#"{"email":"a@b.c"}"#, "password: field is required"),
        (r#"["a@b.c","x"]"#, "body: must be a JSON object"),
        (r#"{"password":"x"}"#, "email: field is required"),
        (r#"{"email":1,"password":"x"}"#, "email: must be a string"),
        (
            r#"{"email":null,"password":"x"}"#,
            "email: must be a string",
        ),
        (
            r#"{"email":"a","password":"b\ud800"}"#,
            "password: must be whole characters",
        ),
        (
            r#"{"email":"a","password":"b"} x"#,
            "body: must be one JSON object; more follows at line 1, column 30",
        ),
    ] {
        assert_eq!(
            refusal(body).await,
            (StatusCode::UNPROCESSABLE_ENTITY, detail.to_owned()),
            "{body}"
        );
    }
    assert_eq!(
        refusal(vec![0xff; 10]).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    assert_eq!(
        refusal("[".repeat(10_000)).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

#[tokio::test]
async fn a_body_over_16_kib_is_too_large() {
    assert_eq!(
        refusal(" ".repeat(16 * 1024 + 1)).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    assert_eq!(
        refusal(" ".repeat(16 * 1024)).await.0,
        StatusCode::UNPROCESSABLE_ENTITY
    );
}

fn parsed<T>(parsing: impl Future<Output = Result<T, ApiError>>) -> Result<T, String> {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(parsing).map_err(|error| error.to_string())
}

fn body(bytes: impl Into<Body>) -> Result<Account, String> {
    let request = Request::new(bytes.into());
    parsed(JsonBody::from_request(request, &())).map(|JsonBody(account)| account)
}

fn query(raw: &str) -> Result<Parameters, String> {
    let uri = format!("/urls/my?{raw}").parse::<axum::http::Uri>();
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = uri.map_err(|_| "no request at all".to_owned())?;
    let (mut parts, _) = request.into_parts();
    parsed(QueryOf::from_request_parts(&mut parts, &())).map(|QueryOf(parameters)| parameters)
}

/// One sentence that names a field of the body.
fn names_a_field(refusal: &str, fields: &[&str]) -> bool {
    let detail = refusal.strip_prefix("422 Unprocessable Entity: ");
    detail.is_some_and(|detail| {
        fields
            .iter()
            .any(|field| detail.starts_with(&format!("{field}: ")))
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let name = prop_oneof!["email", "password", "\\PC{0,6}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map(name, inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_account_comes_through_json_as_it_went(
        email in any::<String>(),
        password in any::<String>(),
        others in values(),
    ) {
        let sent = json!({ "email": email, "password": password, "others": others }).to_string();
        prop_assert_eq!(body(sent), Ok(Account { email, password }));
    }

    #[test]
    fn any_other_json_is_refused_with_a_sentence_that_names_the_field(sent in values()) {
        let fields = [sent["email"].as_str(), sent["password"].as_str()];
        match body(sent.to_string()) {
            Ok(account) => prop_assert_eq!(fields, [Some(&*account.email), Some(&*account.password)]),
            Err(refusal) => {
                prop_assert!(fields.contains(&None), "{}", refusal);
                prop_assert!(names_a_field(&refusal, &["body", "email", "password"]), "{}", refusal);
            }
        }
    }

    #[test]
    fn no_bytes_are_a_body_but_json(
        sent in proptest::collection::vec(any::<u8>(), 0..200),
        begins_well: bool,
    ) {
        let sent = if begins_well { [b"{\"email\":", &*sent].concat() } else { sent };
        let is_object = serde_json::from_slice::<Value>(&sent).is_ok_and(|value| value.is_object());
        match body(sent) {
            Ok(_) => prop_assert!(is_object),
            Err(refusal) => {
                prop_assert!(names_a_field(&refusal, &["body", "email", "password"]), "{}", refusal);
            }
        }
    }

    #[test]
    fn a_parameter_comes_through_a_query_as_it_went(
        target_url in any::<String>(),
        limit in proptest::option::of(any::<String>()),
    ) {
        let mut sent = url::form_urlencoded::Serializer::new(String::new());
        sent.append_pair("target_url", &target_url);
        if let Some(limit) = &limit {
            sent.append_pair("limit", limit);
        }
        prop_assert_eq!(query(&sent.finish()), Ok(Parameters { target_url, limit }));
    }

    #[test]
    fn any_other_query_is_refused_with_a_sentence_that_names_the_field(
        sent in prop_oneof!["[!-~]{0,40}", "((target_url|limit|x)(=[a-z%0-9A-F+]{0,12})?&?){0,4}"],
    ) {
        if let Err(refusal) = query(&sent) {
            let named = names_a_field(&refusal, &["query", "target_url", "limit"]);
            let is_no_text = refusal.ends_with(": must be UTF-8, percent-encoded");
            prop_assert!(named || is_no_text || refusal == "no request at all", "{}", refusal);
        }
    }

    #[test]
    fn a_code_in_a_path_is_read_decoded_and_anything_else_is_none(
        before in prop_oneof![Just("/"), Just("/urls/"), Just("/urls/r/")],
        sent in prop_oneof!["[A-Za-z0-9_-]{1,70}", "[!\"$-.0->@-~]{0,30}", "(%[0-9a-fA-F]{2}|[a-z]){0,12}"],
        after in prop_oneof![Just(""), Just("/stats")],
    ) {
        let Ok(uri) = format!("{before}{sent}{after}").parse() else { return Ok(()) };
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri;
        let (mut parts, _) = request.into_parts();
        let runtime = Builder::new_current_thread().build().unwrap();
        let Ok(PathCode(code)) = runtime.block_on(PathCode::from_request_parts(&mut parts, &()));
        // `/urls/…` and `/urls/r/…` are paths of a different shape.
        let is_other = [("/", "urls"), ("/urls/", "r")].contains(&(before, &sent));
        let decoded = percent_decode_str(&sent).decode_utf8().ok();
        prop_assert!(is_other || code == decoded.and_then(|code| parse_code(&code)));
    }
}
