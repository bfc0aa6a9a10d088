//! Headers that a stranger makes up to be dear: a redirect with any of them costs little more than a plain one.

use std::fs::{read_dir, read_to_string};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{App, Response, both_modes, eventually, links, raw};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

/// Requests of a turn, over so many connections.
const REQUESTS: usize = 480;
const CONNECTIONS: usize = 16;

/// How much a redirect may cost here. It is to be three times a plain one (`load/headers`), and the program of the tests is not
/// optimised; without a bound it was a hundred times.
const MOST: f64 = 12.0;

/// Letters in an order of their own for each number.
fn letters(number: usize, count: usize) -> String {
    let mut state = number as u64 + 1;
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char::from(letters[usize::try_from(state >> 33).unwrap() % letters.len()])
    };
    (0..count).map(letter).collect()
}

/// The processor time that a process has used, in nanoseconds.
fn processor_time(pid: u32) -> u64 {
    let threads = read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let time = |path: std::path::PathBuf| -> Option<u64> {
        let times = read_to_string(path.join("schedstat")).ok()?;
        times.split(' ').next()?.parse().ok()
    };
    threads.filter_map(|thread| time(thread.path())).sum()
}

/// Connections from an address of the loopback.
async fn connect(app: &App, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let server = app.server.base.trim_start_matches("http://");
    socket.connect(server.parse().unwrap()).await.unwrap()
}

/// Sends a request of the code with these lines, and waits for its redirect.
async fn follow(stream: &mut TcpStream, path: &str, lines: &str) {
    let request = format!("GET /{path} HTTP/1.1\r\nHost: test\r\n{lines}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut response).await.unwrap(), 0, "{lines}");
    }
    let response = String::from_utf8_lossy(&response);
    assert!(response.starts_with("HTTP/1.1 302 "), "{response}");
}

/// The processor time of redirects with these paths and lines.
async fn cost(app: &App, request: &(impl Fn(usize) -> (String, String) + Sync)) -> f64 {
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut stream = connect(app, "127.0.0.3").await;
        let (path, _) = request(0);
        follow(&mut stream, &path, &format!("User-Agent: {FIREFOX}")).await;
        streams.push(stream);
    }
    let before = processor_time(app.server.pid());
    let all = streams.iter_mut().enumerate().map(async |(first, stream)| {
        for number in (first..REQUESTS).step_by(CONNECTIONS) {
            let (path, lines) = request(number);
            follow(stream, &path, &lines).await;
        }
    });
    futures_util::future::join_all(all).await;
    let used = processor_time(app.server.pid()) - before;
    Duration::from_nanos(used / REQUESTS as u64).as_secs_f64()
}

/// Fails if a kind of request costs more than [`MOST`] plain ones, which are sent in turns with it.
async fn costs_little(
    app: &App,
    code: &str,
    name: &str,
    request: impl Fn(usize) -> (String, String) + Sync,
) {
    let plain = |_| (code.to_owned(), format!("User-Agent: {FIREFOX}"));
    let (mut base, mut used) = (0.0, 0.0);
    for turn in 0..2 {
        base += cost(app, &plain).await;
        used += cost(app, &|number| request(turn * REQUESTS + number)).await;
    }
    let times = used / base;
    println!("{name}: {times:.2} times {:.1} us", base * 500_000.0);
    assert!(times < MOST, "{name}: {times} times a plain redirect");
}

both_modes! {
    async fn a_redirect_with_made_up_agents_or_referrers_costs_little_more_than_a_plain_one(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let made_up = |value: &dyn Fn(usize) -> String, number| (code.clone(), value(number));
        let kinds: [(&str, &(dyn Fn(usize) -> String + Sync)); 6] = [
            ("letters", &|n| format!("User-Agent: {}", letters(n, 2_000))),
            ("words of bots", &|n| format!("User-Agent: {n} {}", "bot".repeat(168))),
            ("words of browsers", &|n| format!("User-Agent: {n} {}", "Version/1 Mobile Safari Chrome/1.1 OPR/ Kindle ".repeat(10))),
            ("international referrer", &|n| format!("User-Agent: {FIREFOX}\r\nReferer: https://{n}{}/", ".\u{e4}".repeat(80))),
            ("long referrer", &|n| format!("User-Agent: {FIREFOX}\r\nReferer: https://{n}{}/", ".a".repeat(450))),
            ("pages", &|n| format!("User-Agent: {FIREFOX}\r\nReferer: https://example.com/{n}/{}", "a".repeat(900))),
        ];
        for (name, value) in kinds {
            costs_little(app, &code, name, |number| made_up(value, number)).await;
        }
    }

    async fn a_redirect_with_long_or_many_headers_costs_little_more_than_a_plain_one(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let kinds = [
            ("30 headers", "X-Header: value\r\n".repeat(29)),
            ("98 headers", "X-Header: value\r\n".repeat(97)),
            ("a long name", format!("{}: value\r\n", "X".repeat(3_800))),
            ("a long value", format!("X-Header: {}\r\n", "x".repeat(15_000))),
            ("a cookie", format!("Cookie: {}\r\n", "a=b; ".repeat(750))),
            ("languages", format!("Accept-Language: {}\r\n", "e;q=0.1,".repeat(470))),
            ("forwarded addresses", format!("X-Forwarded-For: 127.0.0.1{}\r\n", ",127.0.0.1".repeat(370))),
            ("a purpose", format!("Sec-Purpose: {}\r\n", "a;".repeat(1_900))),
        ];
        for (name, lines) in kinds {
            costs_little(app, &code, name, |_| (code.clone(), format!("{lines}User-Agent: {FIREFOX}"))).await;
        }
    }

    async fn a_request_whose_headers_have_long_names_is_refused_and_its_connection_ends(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let names = [
            "X".repeat(15_000) + ": v\r\n",
            format!("X-{}: v\r\n", "X".repeat(150)).repeat(97),
        ];
        for path in [code.clone(), format!("{code}?query"), "health".to_owned()] {
            for lines in &names {
                let request = format!("GET /{path} HTTP/1.1\r\nHost: test\r\n{lines}\r\nGET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
                let response = raw::exchange(&app.server.base, request).await;
                assert!(response.starts_with("HTTP/1.1 431 "), "{response}");
                assert!(response.contains("send fewer or shorter ones"), "{response}");
                assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{response}");
            }
        }
        assert_eq!(app.clicks(&code).await, 0);
    }

    async fn a_forwarded_query_of_many_parameters_costs_little_more_than_a_plain_redirect(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let own: Vec<_> = (0..200).map(|number| format!("p{number}={number}")).collect();
        let target = format!("https://example.org/?{}", own.join("&"));
        let link = json!([links::forwarding(&target)]);
        let made = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).json(&link);
        let made = Response::of(made).await.json();
        let forwarding = made[0]["short_code"].as_str().unwrap().to_owned();
        for (name, query) in [("parameters", "&a".repeat(600)), ("escapes", "&%41".repeat(300))] {
            costs_little(app, &code, name, |number| {
                (format!("{forwarding}?n={number}{query}"), format!("User-Agent: {FIREFOX}"))
            }).await;
        }
    }

    async fn a_stranger_who_makes_up_agents_makes_nobody_elses_unknown(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut stranger = connect(app, "127.0.0.2").await;
        let mut visitor = connect(app, "127.0.0.3").await;
        for number in 0..2_000 {
            let agent = format!("{number} {}", "bot".repeat(168));
            follow(&mut stranger, &code, &format!("User-Agent: {agent}")).await;
            if number % 100 == 99 {
                follow(&mut visitor, &code, &format!("User-Agent: {FIREFOX} {number}")).await;
            }
        }
        let path = format!("/urls/{code}/stats/breakdown?by=browser");
        eventually("all clicks are summed, and the visitor's are known", async || {
            let found = app.get_as(&token, &path).await.json();
            let rows = found["rows"].as_array().unwrap();
            let known = rows.iter().find(|row| row["value"] == "Firefox");
            found["clicks"] == 2_020 && known.is_some_and(|row| row["clicks"] == 20 && row["people"] == 20)
        }).await;
        assert_eq!(app.clicks(&code).await, 2_020);
    }
}
