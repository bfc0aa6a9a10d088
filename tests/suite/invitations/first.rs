//! The first administrator: by a link of the operator, or by the settings.

use super::{address, join, path_of};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode, Server, command, refused};

#[tokio::test]
async fn the_operator_makes_the_first_administrator_by_a_link_although_registration_is_closed() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("REGISTRATION", "closed")]).await;
        let email = address();
        let create = |email: &str| {
            let mut settings = app.backend.settings();
            settings.push(("BASE_URL".to_owned(), "https://sho.rt".to_owned()));
            let mut create = command(&settings);
            create.args(["admin", "create", email]).output().unwrap()
        };
        let created = create(&email);
        assert!(created.status.success(), "{created:?}");
        let url = String::from_utf8(created.stdout).unwrap();
        let url = url.lines().last().unwrap();
        assert!(url.starts_with("https://sho.rt/app/join/"), "{url}");
        let mut browser = Browser::new(&app);
        leads_to(&join(&mut browser, &path_of(url)).await, "/app");
        assert_eq!(browser.get("/app/admin").await.status, 200);
        let again = create(&email);
        assert_eq!(again.status.code(), Some(1));
        let why = String::from_utf8(again.stderr).unwrap();
        assert!(why.contains("shunt admin grant"), "{why}");
        app.finish().await;
    }
}

#[tokio::test]
async fn the_settings_make_an_administrator_once_and_change_no_account() {
    for mode in [Mode::Embedded, Mode::Production] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "lorem ipsum dolor\n").unwrap();
        let email = address();
        let settings = [
            ("ADMIN_EMAIL", email.as_str()),
            ("ADMIN_PASSWORD_FILE", file.to_str().unwrap()),
            ("REGISTRATION", "closed"),
        ];
        let mut app = App::start_with(mode, &settings).await;
        let log_in = async |app: &App, password: &str| {
            let response = app.account("/auth/login", &email, password).await;
            (response.status == 200)
                .then(|| response.json()["access_token"].as_str().unwrap().to_owned())
        };
        let token = log_in(&app, "lorem ipsum dolor").await.unwrap();
        assert_eq!(app.get_as(&token, "/admin/audit").await.status, 200);
        std::fs::write(&file, "another password").unwrap();
        app.server.stop().await;
        let mut all = app.backend.settings();
        all.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
        app.server = Server::start(&all).await;
        assert!(log_in(&app, "another password").await.is_none());
        assert!(log_in(&app, "lorem ipsum dolor").await.is_some());
        // The file may be gone by then.
        std::fs::remove_file(&file).unwrap();
        app.server.stop().await;
        app.server = Server::start(&all).await;
        assert!(log_in(&app, "lorem ipsum dolor").await.is_some());
        app.finish().await;
    }
}

#[tokio::test]
async fn a_start_with_a_missing_or_weak_password_of_the_administrator_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let file = file.to_str().unwrap();
    let start = |password: Option<&str>| {
        let _ = std::fs::remove_file(file);
        if let Some(password) = password {
            std::fs::write(file, password).unwrap();
        }
        let url = format!("sqlite://{}/shunt.db", folder.path().display());
        let settings = [
            ("DATABASE_URL", url.as_str()),
            ("ADMIN_EMAIL", "ada@example.org"),
            ("ADMIN_PASSWORD_FILE", file),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let ended = refused(&settings);
        assert_eq!(ended.status.code(), Some(1));
        ended.stderr.lines().last().unwrap().to_owned()
    };
    for (password, why) in [
        (None, "no such file"),
        (Some("short"), "8 to 128 characters"),
        (Some("password1"), "choose another one"),
    ] {
        let line = start(password);
        assert!(
            line.contains("ADMIN_PASSWORD_FILE: ") && line.contains(why),
            "{line}"
        );
    }
}
