//! A folder with a page for each link.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::server::{Other, answer};
use super::{FOLLOWED, Kinds, LEFT_OUT, exported};
use crate::support::{both_modes, free_port};

/// Where a page leads, and whether search engines are asked not to list it.
fn led(page: &str) -> (String, String) {
    let (_, rest) = page.split_once("content=\"0; url=").unwrap();
    let to = rest
        .split('"')
        .next()
        .unwrap()
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    assert!(page.contains(&format!(
        "<link rel=\"canonical\" href=\"{}\">",
        rest.split('"').next().unwrap()
    )));
    let robots = if page.contains("content=\"noindex\"") {
        "noindex"
    } else {
        ""
    };
    (to, robots.to_owned())
}

async fn page(base: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("{base}{path}")).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

both_modes! {
    async fn a_folder_of_pages_leads_where_the_links_lead(app) {
        let kinds = Kinds::of(app).await;
        let folder = tempfile::tempdir().unwrap();
        let links = folder.path().join("links");
        let said = kinds.export(app, "html", &links);
        assert!(said.contains("differ from others by case only (aBcD, abcd)"), "{said}");
        // nginx has its files read by another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        let root = links.display();
        let http = format!("server {{ listen 127.0.0.1:{port}; root {root}; error_page 404 /404.html; }}");
        let _nginx = Other::nginx(&http, port).await;
        let base = format!("http://127.0.0.1:{port}");
        for code in FOLLOWED {
            let (status, text) = page(&base, &format!("/{code}")).await;
            let (_, location, robots) = kinds.expected(app, None, &format!("/{code}")).await;
            assert_eq!((status, led(&text)), (200, (location, robots)), "{code}: {text}");
            assert_eq!(text.contains("<script>"), code.starts_with("forward"), "{text}");
        }
        let (_, text) = page(&base, "/listed").await;
        assert!(text.contains("<title>&lt;b&gt;&quot;&#39;&amp;amp;&lt;/title&gt;</title>"), "{text}");
        let (_, text) = page(&base, "/forward-query").await;
        assert!(text.contains("location.replace(\"https://example.org/?a=b&\" + query + \"#c\")"), "{text}");
        for code in LEFT_OUT.iter().chain(&["go-only"]) {
            let (status, text) = page(&base, &format!("/{code}")).await;
            assert!(status == 404 && text.contains("There is no link"), "{code}: {text}");
        }
        let (host, port) = kinds.host.split_once(':').unwrap();
        let (_, text) = page(&base, &format!("/{host}_{port}/abcd")).await;
        assert_eq!(led(&text), ("https://example.org/abcd".into(), "noindex".into()));
        assert_eq!(page(&base, &format!("/{host}_{port}/ABCD/")).await.0, 404);
        // Nobody gets a list.
        for path in ["/", &format!("/{host}_{port}/")] {
            assert!(page(&base, path).await.1.contains("There is no link"));
        }
        assert_eq!(answer(&base, host, "/../abcd/index.html").await.0, 200);
    }

    async fn a_folder_with_files_is_left_as_it_is(app) {
        let token = app.register().await;
        let key = super::key(app, &token).await;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "kept").unwrap();
        exported(app, &key, "html", folder.path()).fails(1, "is not empty; name a new folder");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        exported(app, &key, "html", Path::new("-")).fails(2, "name it with -o FOLDER");
        let new = tempfile::tempdir().unwrap();
        exported(app, &key, "html", new.path()).succeeds();
        assert_eq!(fs::read_dir(new.path()).unwrap().count(), 2);
    }
}
