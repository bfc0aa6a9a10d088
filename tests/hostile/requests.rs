//! Generated requests: the response is never a 5xx, whatever a client sends.

use std::fmt;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::hostile::cases;
use crate::support::{App, Mode};

/// Far above every deadline.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bodies that are nearly valid, and some that are random.
fn bodies() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "\\PC{0,20}",
        "[a-z]{1,5}@[a-z]{1,5}\\.[a-z]{2}",
        Just("0".repeat(7))
    ];
    let value = prop_oneof![
        3 => text.clone().prop_map(|text| serde_json::json!(text)),
        1 => any::<i64>().prop_map(|number| serde_json::json!(number)),
        1 => vec(text.clone(), 0..3).prop_map(|texts| serde_json::json!(texts)),
        1 => Just(serde_json::Value::Null),
    ];
    // The passwords are too short, so that none costs a hash.
    let account = (value, "[a-z]{0,7}").prop_map(|(email, password)| {
        serde_json::json!({ "email": email, "password": password })
            .to_string()
            .into_bytes()
    });
    prop_oneof![
        2 => account,
        1 => vec(any::<u8>(), 0..200),
        1 => text.prop_map(|text| format!("{{\"email\": {text}}}").into_bytes()),
    ]
}

/// Requests to every route that hyper accepts, so that the response comes from the service.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![3 => Just("GET"), 3 => Just("POST"), 1 => Just("DELETE"), 1 => Just("HEAD"), 1 => Just("PUT")];
    let path = prop_oneof![
        Just("/auth/register".to_owned()),
        Just("/auth/login".to_owned()),
        Just("/auth/me".to_owned()),
        Just("/urls/shorten".to_owned()),
        Just("/urls/my".to_owned()),
        "/urls/[!-\"$->@-~]{0,20}(/stats)?",
        "/(urls/r/)?[!-\"$->@-~]{0,20}",
        "(/[a-z.%0-9]{0,8}){1,4}",
    ];
    let query = prop_oneof![
        2 => Just(String::new()),
        1 => "\\?(target_url|limit|cursor)=[!-\"$-~]{0,30}(&[!-\"$-~]{0,10})?",
        1 => "\\?target_url=https%3A%2F%2F[a-z%0-9A-F]{0,20}\\.example[!-\"$-~]{0,10}",
        1 => "\\?limit=[0-9]{0,5}&cursor=0[0-2][0-9a-f]{14}[0-7][0-9a-f]{15}",
    ];
    let signed = prop_oneof![2 => Just("TOKEN".to_owned()), 1 => "Bearer [!-~]{0,30}", 1 => Just(String::new())];
    (method, path, query, signed, bodies()).prop_map(|(method, path, query, signed, body)| {
        let authorization = match signed.as_str() {
            "" => String::new(),
            signed => format!("Authorization: {signed}\r\n"),
        };
        let head = format!(
            "{method} {path}{query} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{authorization}Content-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), &body].concat()
    })
}

/// A request that is printed legibly where a test fails.
#[derive(Clone)]
struct Sent(Vec<u8>);

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// Everything that comes back until the connection is closed. With `cut_off` the client closes its sending side
/// after the request.
async fn exchange(app: &App, request: &[u8], cut_off: bool) -> Vec<u8> {
    let address = app.server.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service may refuse the request and close before all of it is sent.
    let _ = stream.write_all(request).await;
    if cut_off {
        let _ = stream.shutdown().await;
    }
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    response
}

fn for_all_requests(
    requests: impl Strategy<Value = Vec<u8>>,
    cut_off: bool,
    is_right: impl Fn(&[u8]) -> bool,
) {
    let runtime = Runtime::new().unwrap();
    let limits = [
        ("LIMIT_LOGIN", "0"),
        ("LIMIT_REGISTER", "0"),
        ("LIMIT_CREATE", "0"),
        ("LIMIT_MISSES", "0"),
    ];
    let (app, token) = runtime.block_on(async {
        let app = App::start_with(Mode::Embedded, &limits).await;
        let token = app.register().await;
        (app, token)
    });
    let sent = TestRunner::new(cases()).run(&requests.prop_map(Sent), |Sent(request)| {
        let request = String::from_utf8(request.clone())
            .map(|request| {
                request
                    .replacen("TOKEN", &format!("Bearer {token}"), 1)
                    .into_bytes()
            })
            .unwrap_or(request);
        let response =
            runtime.block_on(async { timeout(TIMEOUT, exchange(&app, &request, cut_off)).await });
        let response = response.map_err(|_| TestCaseError::fail("no response and no end"))?;
        prop_assert!(
            is_right(&response),
            "{}",
            String::from_utf8_lossy(&response)
        );
        Ok(())
    });
    if let Err(failure) = sent {
        panic!("{failure}");
    }
    runtime.block_on(async {
        assert_eq!(app.get("/health").await.status, 200);
        app.finish().await;
    });
}

fn status(response: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(response.get(..12)?).ok()?;
    // A request in HTTP/1.0 is answered in HTTP/1.0.
    let status = line
        .strip_prefix("HTTP/1.1 ")
        .or_else(|| line.strip_prefix("HTTP/1.0 "));
    status?.parse().ok()
}

#[test]
fn no_request_is_answered_with_a_defect() {
    for_all_requests(requests(), false, |response| {
        status(response).is_some_and(|status| status < 500)
    });
}

#[test]
fn no_bytes_are_answered_with_a_defect() {
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..300),
        (
            requests(),
            vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
        )
            .prop_map(|(mut request, changes)| {
                for (place, byte) in changes {
                    let place = place.index(request.len());
                    request[place] = byte;
                }
                request
            }),
    ];
    for_all_requests(bytes, true, |response| {
        response.is_empty() || status(response).is_some_and(|status| status < 500)
    });
}
