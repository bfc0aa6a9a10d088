//! Links of a table on a page, and all links as a table.

use super::browser::Browser;
use crate::support::both_modes;

const TABLE: &str = "target_url,custom_code,title,tags\r\nhttps://example.org/a,spring-NAME,Spring,\"print, spring\"\r\nftp://example.org/,,No address,\r\nhttps://example.org/b,,=1+1,\r\n";

both_modes! {
    async fn a_table_is_looked_at_before_its_links_are_made(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let table = TABLE.replace("NAME", &crate::support::unique());
        let looked_at = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "check")]).await;
        assert_eq!(looked_at.status, 200);
        for text in ["2 to be made, 1 refused", "target_url: ", "Make 2 links", "https://example.org/a"] {
            assert!(looked_at.text.contains(text), "{text}: {}", looked_at.text);
        }
        assert!(looked_at.text.contains("<tr><td>3</td><td><bdi></bdi>"), "rows are counted as spreadsheets do: {}", looked_at.text);
        assert!(browser.get("/app").await.text.contains("No links yet"));
        let made = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "make")]).await;
        assert!(made.text.contains("2 made, 1 refused"), "{}", made.text);
        let list = browser.get("/app?tag=spring").await.text;
        assert!(list.contains("Spring") && !list.contains("example.org/b"), "{list}");
        let again = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "make")]).await;
        assert!(again.text.contains("1 made, 2 refused") && again.text.contains("custom_code: is taken"), "{}", again.text);
    }

    async fn what_is_no_table_is_refused_above_the_form(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let many = format!("target_url\n{}", "https://example.org/\n".repeat(1_001));
        for (table, detail) in [
            ("", "table: has no links"), ("target_url\n", "table: has no links"),
            ("address\nhttps://example.org/\n", "address: is not known here"), (many.as_str(), "table: must have at most 1000 links"),
        ] {
            let refused = browser.send("/app/import", "/app/import", &[("table", table), ("action", "make")]).await;
            assert_eq!(refused.status, 422, "{detail}: {}", refused.text);
            assert!(refused.text.contains(detail), "{detail}: {}", refused.text);
        }
        assert!(browser.get("/app").await.text.contains("No links yet"));
    }

    async fn all_links_are_exported_and_can_be_imported_again(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        browser.make(&[("target_url", "https://example.org/"), ("title", "=cmd()"), ("tags", "print")]).await;
        let file = browser.get("/app/export").await;
        assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(file.header("content-disposition"), "attachment; filename=\"links.csv\"");
        assert!(file.text.contains(",'=cmd(),print,"), "{}", file.text);
        let lines = browser.get("/app/export?format=ndjson").await;
        assert_eq!(lines.header("content-type"), "application/x-ndjson");
        let link: serde_json::Value = serde_json::from_str(lines.text.trim_end()).unwrap();
        assert_eq!((&link["title"], &link["tags"][0]), (&"=cmd()".into(), &"print".into()));
        let fields = [("table", file.text.as_str()), ("action", "check")];
        assert!(browser.send("/app/import", "/app/import", &fields).await.text.contains("1 to be made"));
    }
}
