use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request};
use axum::routing::get;
use tower::ServiceExt;

use super::*;

#[test]
fn a_word_is_reserved_where_it_stands_in_the_place_of_a_code_only() {
    for word in ["auth", "docs", "metrics", "my", "r", "shorten", "urls"] {
        assert!(reserved_words().contains(&word), "{word}");
    }
    for word in ["login", "qr", "stats", "{short_code}", ""] {
        assert!(!reserved_words().contains(&word), "{word}");
    }
}

#[test]
fn the_first_word_of_each_route_is_no_code() {
    for route in all_routes().filter(|route| route.template != "/") {
        let word = route.template.split('/').nth(1).unwrap_or_default();
        assert_eq!(parse_code(word), None, "{word}");
        assert_eq!(redirect_code(&format!("/{word}")), None, "{word}");
        assert_eq!(redirect_code(&format!("/urls/r/{word}")), None, "{word}");
    }
}

#[test]
fn a_path_has_a_redirects_code_exactly_where_its_route_is_a_redirect() {
    for route in ROUTES {
        let path = route
            .template
            .replace(CODE, "K7mXq2R")
            .replace("{file}", "K7mXq2R");
        let code = (route.class == Class::Redirect).then(|| ShortCode::parse("K7mXq2R").unwrap());
        assert_eq!(redirect_code(&path), code, "{path}");
        if path.ends_with("K7mXq2R") {
            assert_eq!(redirect_code(&format!("{path}/")), code, "{path}/");
        }
    }
    for path in [
        "",
        "/",
        "//K7mXq2R",
        "/K7mXq2R//",
        "/K7mXq2R/stats",
        "/K7mXq2R/stats/",
        "/docs/",
        "/urls/r/",
        "/%4b7mXq2R",
    ] {
        assert_eq!(redirect_code(path), None, "{path}");
    }
}

#[test]
fn a_slash_is_taken_off_a_code_or_a_page_only() {
    for path in [
        "/K7mXq2R",
        "/urls/r/K7mXq2R",
        "/urls/K7mXq2R",
        "/%4b7mXq2R",
        "/a.b",
        "/K7mXq2R+",
        "/app",
        "/app/login",
        "/app/links/K7mXq2R/live",
    ] {
        assert_eq!(without_slash(&format!("{path}/")), Some(path));
        assert_eq!(without_slash(path), None);
        assert_eq!(without_slash(&format!("{path}//")), None);
    }
    for path in [
        "/",
        "//",
        "/docs/",
        "/health/",
        "/assets/page.css/",
        "/app/no/such/page/",
        "/urls/",
        "/urls/r/",
        "/urls/my/",
        "/auth/me/",
        "/urls/K7mXq2R/stats/",
        "/a/b/",
    ] {
        assert_eq!(without_slash(path), None, "{path}");
    }
}

#[test]
fn a_plus_behind_a_code_leads_to_its_preview() {
    for path in ["/K7mXq2R+", "/K7mXq2R%2B", "/K7mXq2R%2b"] {
        let preview = Some("/app/preview/K7mXq2R".to_owned());
        assert_eq!(preview_path(path), preview, "{path}");
    }
    for path in ["/K7mXq2R", "/+", "/docs+", "/a/b+", "/a++", "+"] {
        assert_eq!(preview_path(path), None, "{path}");
    }
}

#[test]
fn pages_are_for_people_and_the_api_is_not() {
    for path in ["/", "/K7mXq2R", "/urls/r/K7mXq2R", "/app", "/no/such/path"] {
        assert!(is_for_people(path), "{path}");
    }
    for path in [
        "/urls/my",
        "/auth/me",
        "/openapi.json",
        "/urls/K7mXq2R/stats",
    ] {
        assert!(!is_for_people(path), "{path}");
    }
}

/// A router with the table's templates; it answers with the template that it chose.
fn router_of_the_table() -> Router {
    all_routes().fold(Router::new(), |router, route| {
        router.route(
            route.template,
            get(async |chosen: MatchedPath| chosen.as_str().to_owned()),
        )
    })
}

async fn chosen_by(router: &Router, path: &str) -> Option<String> {
    let request = Request::builder().uri(path).body(Body::empty()).unwrap();
    let Ok(response) = router.clone().oneshot(request).await;
    let is_found = response.status().is_success();
    let body = to_bytes(response.into_body(), 1_000).await.unwrap();
    is_found.then(|| String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn the_table_and_a_router_choose_the_same_route() {
    let words = "urls r my app links admin assets stats qr auth login docs health K7mXq2R %2f";
    let words: Vec<&str> = words.split(' ').chain([""]).collect();
    let router = router_of_the_table();
    let mut paths = vec![String::new()];
    for _ in 0..4 {
        paths = paths
            .iter()
            .flat_map(|path| words.iter().map(move |word| format!("{path}/{word}")))
            .collect();
        for path in &paths {
            let chosen = route_of(path).map(|route| route.template);
            assert_eq!(chosen, chosen_by(&router, path).await.as_deref(), "{path}");
        }
    }
}
