//! Databases of other encodings and locales: the first are refused at start, and searches are the same in all of the second.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

use crate::suite::abuse::GRANT;
use crate::support::{App, Backend, Mode, Response, Server, command, refused, unique};

const TITLES: [&str; 11] = [
    "TITLE I",
    "title i",
    "İSTANBUL",
    "ıspanak",
    "ISPANAK",
    "ÄÖÜ straße",
    "äöü STRASSE",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "\u{212a}elvin",
    "ﬁnal 50%_\\",
];

const QUERIES: [&str; 17] = [
    "title", "TITLE", "TİTLE", "i", "I", "ı", "İ", "istanbul", "ispanak", "äöü", "ÄÖÜ", "STRASSE",
    "σίσ", "ΣΊΣ", "kelvin", "FINAL", "50%_\\",
];

/// The titles that each query finds: of an owner's links, and of an administrator's.
async fn found(app: &App) -> Vec<(String, Vec<String>, Vec<String>)> {
    let token = app.register().await;
    let domain = unique();
    for (index, title) in TITLES.iter().enumerate() {
        // A code that is drawn may have any letter.
        let code = unique();
        let body =
            json!({ "target_url": "https://example.org/", "title": title, "custom_code": code });
        let made = app
            .request(Method::POST, "/urls/shorten")
            .bearer_auth(&token);
        assert_eq!(Response::of(made.json(&body)).await.status, 200);
        let email = format!(
            "{}{index}@{domain}.example.org",
            if index % 2 == 0 { "INES" } else { "ines" }
        );
        assert_eq!(
            app.account("/auth/register", &email, "correct horse")
                .await
                .status,
            200
        );
    }
    let admin = format!("admin@{domain}.example.net");
    let admin_token = app
        .account("/auth/register", &admin, "correct horse")
        .await
        .json();
    let admin_token = admin_token["access_token"].as_str().unwrap().to_owned();
    app.backend.execute(GRANT, &admin).await;
    let titles = |links: &Value, codes: &Value| -> Vec<String> {
        let title = |code: &Value| {
            let all = codes.as_array().unwrap().iter();
            let mut of_code = all.filter(|link| link["short_code"] == *code);
            of_code
                .next()
                .map(|link| link["title"].as_str().unwrap().to_owned())
        };
        links
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|link| title(&link["short_code"]))
            .collect()
    };
    let all = app.get_as(&token, "/urls/my?view=full").await.json();
    let mut found = Vec::new();
    for query in QUERIES {
        let asked = app
            .request(Method::GET, "/urls/my")
            .bearer_auth(&token)
            .query(&[("q", query)]);
        let mine = titles(&Response::of(asked).await.json(), &all);
        let asked = app
            .request(Method::GET, "/admin/links")
            .bearer_auth(&admin_token)
            .query(&[("q", query), ("limit", "200")]);
        let seen = titles(&Response::of(asked).await.json()["links"], &all);
        assert_eq!(mine, seen, "administrators find what owners find: {query}");
        found.push((query.to_owned(), mine, seen));
    }
    for (query, count) in [
        ("ines", TITLES.len()),
        ("INES", TITLES.len()),
        ("İNES", TITLES.len()),
        (domain.as_str(), TITLES.len() + 1),
    ] {
        let asked = app
            .request(Method::GET, "/admin/users")
            .bearer_auth(&admin_token)
            .query(&[("q", query), ("limit", "200")]);
        let users = Response::of(asked).await.json();
        let of_domain = |user: &&Value| user["email"].as_str().unwrap().contains(&domain);
        assert_eq!(
            users["users"]
                .as_array()
                .unwrap()
                .iter()
                .filter(of_domain)
                .count(),
            count,
            "{query}"
        );
    }
    found
}

#[tokio::test]
async fn searches_find_the_same_in_sqlite_and_in_postgres_of_any_locale() {
    let embedded = App::start(Mode::Embedded).await;
    let expected = found(&embedded).await;
    embedded.finish().await;
    let of = |query: &str| {
        let found = expected.iter().find(|(asked, ..)| asked == query);
        found.unwrap().1.clone()
    };
    assert_eq!(of("title"), ["title i", "TITLE I"]);
    assert_eq!(of("TITLE"), of("title"));
    assert_eq!(of("äöü"), ["äöü STRASSE", "ÄÖÜ straße"]);
    assert_eq!(of("ispanak"), ["ISPANAK"]);
    for options in [
        "",
        "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8'",
        "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'",
    ] {
        let backend = Backend::empty(options).await;
        let server = Server::start(&backend.settings()).await;
        let app = App::of(backend, server);
        assert_eq!(found(&app).await, expected, "{options}");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_postgres_of_another_encoding_is_refused_in_one_line() {
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let options = format!("TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'");
        let backend = Backend::empty(&options).await;
        let settings = backend.settings();
        let started = settings.clone();
        let ended = tokio::task::spawn_blocking(move || refused(&started))
            .await
            .unwrap();
        assert_eq!(ended.status.code(), Some(1));
        let migrated = command(&settings).arg("migrate").output().unwrap();
        for text in [ended.stderr, String::from_utf8(migrated.stderr).unwrap()] {
            assert_eq!(text.lines().count(), 1, "{text}");
            let wanted = format!(
                "DATABASE_URL: the database has the encoding {encoding}, but shunt needs UTF8"
            );
            assert!(text.contains(&wanted), "{text}");
        }
        backend.remove().await;
    }
}

#[tokio::test]
async fn an_sqlite_file_of_another_encoding_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let url = format!("sqlite://{}?mode=rwc", path.display());
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    for statement in [
        "PRAGMA encoding = 'UTF-16le'",
        "CREATE TABLE other (id INTEGER)",
    ] {
        sqlx::raw_sql(statement).execute(&mut file).await.unwrap();
    }
    file.close().await.unwrap();
    let settings = vec![(
        "DATABASE_URL".to_owned(),
        format!("sqlite://{}", path.display()),
    )];
    let ended = tokio::task::spawn_blocking(move || refused(&settings))
        .await
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("the file has the encoding UTF-16le, but shunt needs UTF-8"),
        "{}",
        ended.stderr
    );
}
