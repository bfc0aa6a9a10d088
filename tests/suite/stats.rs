//! Public statistics.

use crate::support::{Backend, both_modes};

both_modes! {
    async fn anyone_may_read_the_statistics_of_a_link(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        app.visit(&format!("/{code}")).await;
        let response = app.get(&format!("/urls/{code}/stats")).await;
        assert_eq!(response.status, 200);
        let expected = format!("{{\"short_code\":\"{code}\",\"target_url\":\"https://example.org/\",\"rules\":0,\"clicks\":1,\"total\":1}}\n");
        assert_eq!(response.text, expected);
        let base = &app.server.base;
        assert_eq!(response.header("link"), format!("<{base}/{code}>; rel=\"shortlink\""));
    }

    async fn an_unknown_code_has_no_statistics(app) {
        for path in ["/urls/nopenope/stats", "/urls/a.b/stats", "/urls/%ff/stats"] {
            app.get(path).await.is_error(404, "Not Found");
        }
    }

    async fn a_number_never_falls_while_clicks_are_written_back(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let is_embedded = matches!(app.backend, Backend::Embedded { .. });
        let others = if is_embedded { vec![] } else { vec![app.another(&[("FLUSH_INTERVAL_MS", "10")]).await] };
        let path = format!("/urls/{code}/stats");
        let mut last = 0;
        for answered in 1..=100 {
            app.visit(&format!("/{code}")).await;
            for base in [&app.server].into_iter().chain(&others).map(|server| &server.base) {
                let stats: serde_json::Value = reqwest::get(format!("{base}{path}")).await.unwrap().json().await.unwrap();
                let clicks = stats["clicks"].as_u64().unwrap();
                assert!(clicks >= last, "fell from {last} to {clicks}");
                assert_eq!(clicks, answered);
                last = clicks;
            }
        }
    }
}
