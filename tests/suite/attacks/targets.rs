//! Hostile targets: line ends, other schemes, credentials, loops.

use crate::support::{App, Mode, both_modes};

/// Characters that could end a line.
const LINE_ENDS: [&str; 7] = ["\r\n", "\n", "\r", "\0", "\u{b}", "\u{7f}", "\u{85}"];

/// Line ends as text, and letters whose low byte is a line end.
const HARMLESS_LINE_ENDS: [&str; 5] = [
    "%0d%0a",
    "%250d%250a",
    "\\r\\n",
    "\u{10d}\u{10a}",
    "\u{560d}\u{560a}\u{2028}",
];

async fn is_refused(app: &App, token: &str, target: &str) {
    let response = app.try_shorten(token, target).await;
    assert_eq!(response.status, 422, "{target:?}: {}", response.text);
    assert!(
        response.detail().starts_with("target_url"),
        "{target:?}: {}",
        response.detail()
    );
}

both_modes! {
    async fn no_line_end_in_a_target_gets_through(app) {
        let token = app.register().await;
        for end in LINE_ENDS {
            for target in [
                format!("{end}https://example.org/"),
                format!("ht{end}tps://example.org/"),
                format!("https:{end}//example.org/"),
                format!("https://exam{end}ple.org/"),
                format!("https://example.org:4{end}43/"),
                format!("https://example.org/a{end}Set-Cookie: a=b"),
                format!("https://example.org/?a{end}Set-Cookie: a=b"),
                format!("https://example.org/#a{end}Set-Cookie: a=b"),
                format!("https://example.org/{end}"),
            ] {
                is_refused(app, &token, &target).await;
            }
        }
        for encoded in ["%0d%0a", "%00", "%0A"] {
            is_refused(app, &token, &format!("https://exam{encoded}ple.org/")).await;
        }
    }

    async fn an_encoded_line_end_stays_encoded_in_the_location(app) {
        let token = app.register().await;
        for end in HARMLESS_LINE_ENDS {
            for place in ["", "?q=", "#"] {
                let target = format!("https://example.org/{place}a{end}Set-Cookie:stolen=1{end}{end}<script>");
                let code = app.shorten(&token, &target).await;
                let response = app.visit(&format!("/{code}")).await;
                assert_eq!(response.status, 302);
                assert_eq!(response.header("set-cookie"), "", "{target:?}");
                assert_eq!(response.text, "", "{target:?}");
                let location = response.headers["location"].as_bytes();
                assert!(location.iter().all(|byte| (b'!'..=b'~').contains(byte)), "{target:?}: {location:?}");
            }
        }
    }

    async fn only_http_and_https_are_schemes_however_others_are_spelt(app) {
        let token = app.register().await;
        for scheme in ["javascript", "data", "file", "vbscript"] {
            let mixed: String = scheme
                .chars()
                .enumerate()
                .map(|(at, letter)| if at % 2 == 0 { letter.to_ascii_uppercase() } else { letter })
                .collect();
            let (head, tail) = scheme.split_at(3);
            for target in [
                format!("{scheme}:alert(1)"),
                format!("{mixed}:alert(1)"),
                format!("{}:alert(1)", scheme.to_uppercase()),
                format!("{scheme}://example.org/%0aalert(1)"),
                format!("{scheme}:https://example.org/"),
                format!("{scheme}:///etc/passwd"),
                format!("{scheme}&colon;alert(1)"),
                format!("{scheme}%3aalert(1)"),
                format!("{scheme}\u{ff1a}alert(1)"),
                format!(" {scheme}:alert(1)"),
                format!("\t{scheme}:alert(1)"),
                format!("\n{scheme}:alert(1)"),
                format!("\u{1}{scheme}:alert(1)"),
                format!("\u{a0}{scheme}:alert(1)"),
                format!("\u{feff}{scheme}:alert(1)"),
                format!("\u{200b}{scheme}:alert(1)"),
                format!("{head}\t{tail}:alert(1)"),
                format!("{head}\r\n{tail}:alert(1)"),
                format!("{scheme}\t:alert(1)"),
                format!("{scheme} :alert(1)"),
                format!("url={scheme}:alert(1)"),
                format!("view-source:{scheme}:alert(1)"),
                format!("feed:{scheme}:alert(1)"),
            ] {
                is_refused(app, &token, &target).await;
            }
        }
        for target in [
            "ftp://example.org/", "ws://example.org/", "wss://example.org/", "blob:https://example.org/1", "about:blank",
            "mailto:a@example.org", "tel:112", "intent://example.org/", "ms-settings:", "jar:https://example.org/!/",
            "view-source:https://example.org/", "httpx://example.org/", "https+x://example.org/", "h\u{ff54}tps://example.org/",
            "\u{17f}ttps://example.org/", "http\u{ff1a}//example.org/", "http\u{17f}://example.org/",
        ] {
            is_refused(app, &token, target).await;
        }
    }

    /// A browser at `http://host/code` reads `http:x` as `http://host/x`.
    async fn a_target_that_a_browser_could_read_as_relative_is_refused(app) {
        let token = app.register().await;
        for target in [
            "http:example.org", "http:/example.org", "http:", "http:/", "http:?", "http:#", "https:example.org", "https:/example.org/",
            "http:///example.org/", "http:////example.org/", "//example.org/", "/\\example.org/", "\\\\example.org\\", "///example.org",
            "?target", "#x", ".", "..", "example.org:80", "https//example.org/", "https:\\\\example.org\\", "https:\\example.org",
            "https:/\\example.org/",
        ] {
            is_refused(app, &token, target).await;
        }
    }

    async fn a_user_name_or_password_in_a_target_is_refused(app) {
        let token = app.register().await;
        for target in [
            "https://user@example.org/", "https://user:password@example.org/", "https://:password@example.org/",
            "https://example.com@example.org/", "https://example.com%2f@example.org/", "https://example.com\\@example.org/",
            "https://example.com#@example.org@/", "https://a@b@example.org/", "https://us%65r@example.org/", "https://@example.org/",
            "https://:@example.org/",
        ] {
            // With a `#` or a backslash before it, the at sign is in the fragment or the path of `example.com`.
            if target.contains("#@") {
                let code = app.shorten(&token, target).await;
                assert_eq!(app.visit(&format!("/{code}")).await.header("location"), target);
            } else {
                is_refused(app, &token, target).await;
            }
        }
    }

    async fn a_loop_by_address_is_refused_however_the_address_is_written(app) {
        let token = app.register().await;
        let port = app.server.base.rsplit_once(':').unwrap().1.to_owned();
        for host in [
            "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "2130706433.", "017700000001", "0x7f000001", "0X7F000001",
            "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "0177.0.0.01", "127.000.000.001", "0x7f.0x0.0x0.0x1", "%31%32%37.0.0.1",
            "127%2e0%2e0%2e1", "127\u{3002}0\u{3002}0\u{3002}1", "127\u{ff0e}0\u{ff0e}0\u{ff0e}1", "127\u{ff61}0\u{ff61}0\u{ff61}1",
            "\u{ff11}\u{ff12}\u{ff17}.0.0.1", "\u{2460}\u{2461}\u{2466}.0.0.1", "127.0.0.1\u{ad}", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
            "[::FFFF:7F00:0001]", "[0:0:0:0:0:ffff:127.0.0.1]", "[0000:0000:0000:0000:0000:ffff:7f00:0001]", "[::1]",
            "[0:0:0:0:0:0:0:1]", "[0000::0001]", "0.0.0.0", "0", "0x0", "[::]", "localhost", "LOCALHOST", "localhost.", "l%6fcalhost",
            "\u{ff4c}ocalhost", "loca\u{ad}lhost", "x.localhost",
        ] {
            for target in [
                format!("http://{host}:{port}/abc"),
                format!("HTTP://{host}:{port}"),
                format!("http://{host}:{port}?a"),
                format!("http://{host}:0{port}/#a"),
            ] {
                is_refused(app, &token, &target).await;
            }
        }
        for target in [
            format!("http://127.0.0.1:{port}\\abc"),
            format!("http://127.0.0.1:{port}\\@example.org/"),
            format!("http:\\\\127.0.0.1:{port}\\abc"),
            format!("http:127.0.0.1:{port}/abc"),
            format!("http:/127.0.0.1:{port}/abc"),
            format!("http:///127.0.0.1:{port}/abc"),
            format!("http://example.org@127.0.0.1:{port}/abc"),
            format!("http://@127.0.0.1:{port}/abc"),
        ] {
            is_refused(app, &token, &target).await;
        }
    }
}

/// An embedded instance with this public address.
async fn with_base_url(base_url: &str) -> App {
    App::start_with(Mode::Embedded, &[("BASE_URL", base_url)]).await
}

#[tokio::test]
async fn a_loop_by_name_is_refused_however_the_name_is_written() {
    let app = with_base_url("https://sho.rt").await;
    let token = app.register().await;
    for target in [
        "https://sho.rt/abc",
        "https://sho.rt",
        "https://sho.rt?a",
        "https://sho.rt#a",
        "HTTPS://SHO.RT/abc",
        "https://Sho.Rt/abc",
        "https://sho.rt:443/abc",
        "https://sho.rt:0443/abc",
        "https://sho.rt:/abc",
        "https://sho.rt./abc",
        "https://SHO.RT.:443/abc",
        "http://sho.rt/abc",
        "http://sho.rt:80/abc",
        "http://sho.rt:443/abc",
        "https://sho.rt\\abc",
        "https:\\\\sho.rt\\abc",
        "https:sho.rt/abc",
        "https:/sho.rt/abc",
        "https:///sho.rt/abc",
        "https://@sho.rt/abc",
        "https://example.org@sho.rt/abc",
        "https://example.org%40sho.rt@sho.rt/",
        "https://s%68o.rt/abc",
        "https://%73%68%6f%2e%72%74/abc",
        "https://sho%2ert/abc",
        "https://sho%E3%80%82rt/abc",
        "https://sho\u{3002}rt/abc",
        "https://sho\u{ff0e}rt/abc",
        "https://sho\u{ff61}rt/abc",
        "https://sho.rt\u{3002}/abc",
        "https://\u{ff53}\u{ff48}\u{ff4f}\u{ff0e}\u{ff52}\u{ff54}/abc",
        "https://\u{24e2}\u{24d7}\u{24de}.\u{24e1}\u{24e3}/abc",
        "https://\u{1d4fc}\u{1d4f1}\u{1d4f8}.\u{1d4fb}\u{1d4fd}/abc",
        "https://\u{17f}ho.rt/abc",
        "https://sho\u{ad}.rt/abc",
        "https://sho\u{200b}.rt/abc",
        "https://sho.r\u{2060}t/abc",
        "https://sho.rt\u{fe0f}/abc",
    ] {
        is_refused(&app, &token, target).await;
    }
    for target in [
        "https://notsho.rt/",
        "https://sho.rt.example.org/",
        "https://example.org/https://sho.rt/",
        "https://example.org/?u=https://sho.rt/",
        "https://example.org/#@sho.rt/",
        "https://sho-rt/",
        "https://sh\u{43e}.rt/",
    ] {
        assert_eq!(
            app.try_shorten(&token, target).await.status,
            200,
            "{target}"
        );
    }
    app.finish().await;
}

#[tokio::test]
async fn a_loop_to_an_international_name_is_refused_however_the_name_is_written() {
    for own in [
        "https://b\u{fc}cher.example",
        "https://xn--bcher-kva.example",
    ] {
        let app = with_base_url(own).await;
        let token = app.register().await;
        for host in [
            "b\u{fc}cher.example",
            "B\u{dc}CHER.example",
            "bu\u{308}cher.example",
            "xn--bcher-kva.example",
            "XN--BCHER-KVA.EXAMPLE.",
            "b%C3%BCcher.example",
            "xn--%62cher-kva.example",
        ] {
            is_refused(&app, &token, &format!("https://{host}/abc")).await;
        }
        app.finish().await;
    }
}

/// An attacker must not choose the address of the next page.
#[tokio::test]
async fn addresses_in_responses_come_from_the_setting_and_not_from_the_request() {
    let app = with_base_url("https://sho.rt").await;
    let token = app.register().await;
    for _ in 0..2 {
        app.shorten(&token, "https://example.org/").await;
    }
    let request = app
        .request(reqwest::Method::GET, "/urls/my?limit=1")
        .bearer_auth(&token)
        .header("host", "evil.example")
        .header("x-forwarded-host", "evil.example")
        .header("x-forwarded-proto", "javascript")
        .header("forwarded", "host=evil.example");
    let response = crate::support::Response::of(request).await;
    assert!(
        response
            .header("link")
            .starts_with("<https://sho.rt/urls/my?"),
        "{}",
        response.header("link")
    );
    assert!(!format!("{response:?}").contains("evil"), "{response:?}");
    app.finish().await;
}
