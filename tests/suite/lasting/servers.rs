//! One file for a server.

use std::fs;

use super::server::{Other, answer};
use super::{FOLLOWED, Kinds, LEFT_OUT, exported};
use crate::support::{App, both_modes, free_port};

/// Queries of visitors. Each link that forwards them is asked with all.
const QUERIES: &[&str] = &["", "?", "?x=1&y=%22$uri{path}", "?&x=1"];

/// Asks the other server for every kind of link, and compares with the running service.
async fn serves_as_shunt(app: &App, kinds: &Kinds, own: &str, elsewhere: &str) {
    let host = app.server.base.trim_start_matches("http://");
    for code in FOLLOWED.iter().chain(&["many-0-0", "many-2-999"]) {
        for query in QUERIES {
            for path in [
                format!("/{code}{query}"),
                format!("/urls/r/{code}{query}"),
                format!("/{code}/{query}"),
            ] {
                let mut expected = kinds.expected(app, None, &path).await;
                expected.1 = as_it_is(&expected.1, query);
                assert_eq!(expected.0, 302, "{path}");
                assert_eq!(answer(own, host, &path).await, expected, "{path}");
            }
        }
    }
    for code in LEFT_OUT.iter().chain(&["go-only"]) {
        for path in [
            format!("/{code}"),
            format!("/{code}?x=1"),
            format!("/urls/r/{code}"),
        ] {
            let (status, location, _) = answer(own, host, &path).await;
            assert_eq!((status, &*location), (404, ""), "{path}");
        }
    }
    for path in [
        "/abcd",
        "/abcd?x=1",
        "/go-only",
        "/go-only?x=1",
        "/urls/r/go-only",
    ] {
        let expected = kinds.expected(app, Some(&kinds.host), path).await;
        assert_eq!(expected.0, 302, "{path}");
        assert_eq!(
            answer(elsewhere, &kinds.host, path).await,
            expected,
            "{path}"
        );
        assert_eq!(
            answer(elsewhere, &kinds.host.to_uppercase(), path).await,
            expected,
            "{path}"
        );
    }
    for path in ["/", "/ABCD", "/locked", "/abcd/more"] {
        assert_eq!(answer(elsewhere, &kinds.host, path).await.0, 404, "{path}");
    }
}

/// The service encodes a visitor's query and drops `&` at its beginning; other servers pass it on as it is.
fn as_it_is(location: &str, query: &str) -> String {
    let query = query.trim_start_matches('?');
    let encoded = query
        .trim_start_matches('&')
        .replace('{', "%7B")
        .replace('}', "%7D");
    if encoded.is_empty() {
        location.to_owned()
    } else {
        location.replace(&encoded, query)
    }
}

both_modes! {
    async fn nginx_serves_links_that_were_exported_as_nginx(app) {
        let kinds = Kinds::of(app).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("links.conf");
        kinds.export(app, "nginx", &file);
        // The service still has its own port.
        let (own, port) = (free_port(), app.server.base.rsplit(':').next().unwrap());
        let text = fs::read_to_string(&file).unwrap().replace(&format!("listen {port};"), &format!("listen {own};"));
        let _nginx = Other::nginx(&text, own).await;
        serves_as_shunt(app, &kinds, &format!("http://127.0.0.1:{own}"), &format!("http://127.0.0.1:{}", kinds.port)).await;
        let posted = reqwest::Client::new().post(format!("http://127.0.0.1:{own}/abcd"));
        assert_eq!(posted.send().await.unwrap().status(), 405);
    }

    async fn caddy_serves_links_that_were_exported_as_caddy(app) {
        let kinds = Kinds::of(app).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Caddyfile");
        kinds.export(app, "caddy", &file);
        let own = free_port();
        let text = fs::read_to_string(&file).unwrap().replace(&app.server.base, &format!("http://127.0.0.1:{own}"));
        let _caddy = Other::caddy(&text, own).await;
        serves_as_shunt(app, &kinds, &format!("http://127.0.0.1:{own}"), &format!("http://127.0.0.1:{}", kinds.port)).await;
    }

    async fn a_file_of_redirects_has_each_link_once(app) {
        let kinds = Kinds::of(app).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("_redirects");
        let said = kinds.export(app, "redirects", &file);
        assert!(said.contains("2 codes are at other hosts"), "{said}");
        assert!(said.contains("reads only the first 2000 of these"), "{said}");
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), FOLLOWED.len() + 3_000 + 2);
        for code in FOLLOWED {
            let of_code: Vec<_> = lines.iter().filter(|line| line.starts_with(&format!("/{code} "))).collect();
            let [line] = of_code[..] else { panic!("{of_code:?}") };
            let (_, location, _) = kinds.expected(app, None, &format!("/{code}")).await;
            let expected = format!("/{code} {location} 302");
            let same = line.replace("%3A", ":").replace("https://EXAMPLE", "HTTPS://EXAMPLE");
            assert_eq!(same, expected.replace("%3A", ":"));
        }
        assert!(lines.contains(&&*format!("http://{}/abcd https://example.org/abcd 302", kinds.host)));
        assert!(LEFT_OUT.iter().all(|code| !text.contains(&format!("/{code} "))), "{text}");
    }

    async fn without_links_there_is_a_file_without_links(app) {
        let token = app.register().await;
        let key = super::key(app, &token).await;
        for form in ["nginx", "caddy", "redirects"] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("links");
            exported(app, &key, form, &file).succeeds();
            assert!(fs::read_to_string(&file).unwrap().contains("without shunt: 0 codes"));
        }
    }
}
