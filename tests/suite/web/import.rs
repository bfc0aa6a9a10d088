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
        for text in ["2 links can be created. 1 row is refused. Nothing has been created yet.", "target_url: Enter a complete web address", "Create 2 links", "https://example.org/a"] {
            assert!(looked_at.text.contains(text), "{text}: {}", looked_at.text);
        }
        assert!(looked_at.text.contains("<tr><td>3</td><td><bdi></bdi>"), "rows are counted as spreadsheets do: {}", looked_at.text);
        assert!(browser.get("/app").await.text.contains("No links yet"));
        let made = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "make")]).await;
        assert!(made.text.contains("2 links were created. 1 row is refused."), "{}", made.text);
        let list = browser.get("/app?tag=spring").await.text;
        assert!(list.contains("Spring") && !list.contains("example.org/b"), "{list}");
        let again = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "make")]).await;
        assert!(again.text.contains("1 link was created. You have 1 link already. 1 row is refused.") && again.text.contains("You have this link already"), "{}", again.text);
    }

    async fn what_is_no_table_is_refused_above_the_form(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let many = format!("target_url\n{}", "https://example.org/\n".repeat(1_001));
        for (table, detail) in [
            ("", "There are no links in it."), ("target_url\n", "There are no links in it."),
            ("address\nhttps://example.org/\n", "address: This column is unknown here"), (many.as_str(), "At most 1,000 links can be imported here."),
        ] {
            let refused = browser.send("/app/import", "/app/import", &[("table", table), ("action", "make")]).await;
            assert_eq!(refused.status, 422, "{detail}: {}", refused.text);
            assert!(refused.text.contains(detail), "{detail}: {}", refused.text);
        }
        assert!(browser.get("/app").await.text.contains("No links yet"));
    }

    async fn files_of_other_services_are_read_as_the_command_line_reads_them(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let page = browser.get("/app/import").await.text;
        for service in ["table", "Kutt", "YOURLS", "Shlink", "Bitly", "Chhoto", "Dub", "Sink", "Short.io", "Rebrandly", "Polr", "TinyURL", "Firebase"] {
            assert!(page.contains(service), "{service}: {page}");
        }
        let unique = crate::support::unique();
        let code = |begin: &str| format!("{begin}-{unique}");
        for (from, table, words) in [
            ("kutt", format!("[{{\"target\": \"https://example.org/kutt\", \"address\": \"{}\", \"visit_count\": 5}}]", code("kutt")), "1 link was created"),
            ("yourls", format!("keyword;url;title;clicks\n{};https://example.org/yourls;\"a; b\";3\n", code("yourls")), "1 link was created"),
            ("shlink", format!("{{\"shortUrls\": {{\"data\": [{{\"shortCode\": \"{}\", \"longUrl\": \"https://example.org/shlink\"}}], \"pagination\": {{\"currentPage\": 1, \"pagesCount\": 3, \"totalItems\": 40}}}}}}", code("shlink")), "39 more links on pages that are not in this file"),
            ("bitly", format!("{{\"links\": [{{\"link\": \"https://bit.ly/x1\", \"long_url\": \"https://example.org/bitly\", \"custom_bitlinks\": [\"https://bit.ly/{}\"], \"tags\": [\"Q1, 2024\"]}}]}}", code("bitly")), "A tag is shortened: at most 50 characters, no commas: Q1, 2024"),
            ("chhoto", format!("[{{\"longlink\": \"https://example.org/chhoto\", \"shortlink\": \"{}\"}}]", code("chhoto")), "1 link was created"),
        ] {
            let made = browser.send("/app/import", "/app/import", &[("from", from), ("table", &table), ("action", "make")]).await;
            assert!(made.text.contains(words) && made.text.contains("1 link was created"), "{from}: {}", made.text);
            assert_eq!(app.get(&format!("/{}", code(from))).await.header("location"), format!("https://example.org/{from}"));
        }
        let shared = tokio::sync::Mutex::new(&mut browser);
        crate::support::eventually("the page says which clicks were imported", async || {
            let page = shared.lock().await.get(&format!("/app/links/{}", code("kutt"))).await.text;
            page.contains("5 of them were counted by another service before the import")
        }).await;
        let protected = "[{\"target\": \"https://example.org/\", \"address\": \"members\", \"password\": true}]";
        let refused = browser.send("/app/import", "/app/import", &[("from", "kutt"), ("table", protected), ("action", "make")]).await;
        assert!(refused.text.contains("password: The link has a password whose hash is missing, and here it would be open to everyone."), "{}", refused.text);
        let open = "longUrl,shortCode,title\nhttps://example.org/1,shp-1,\"open title\nhttps://example.org/2,shp-2,t2\n";
        let refused = browser.send("/app/import", "/app/import", &[("from", "shlink"), ("table", open), ("action", "make")]).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("Line 2: The quotation mark that opens here is never closed"), "{}", refused.text);
    }

    async fn a_look_at_a_table_says_which_codes_are_taken(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/")]).await;
        let table = format!("sep=;\nTarget_URL;custom_code;title\nhttps://example.org/1;{code};\"Eins; zwei\"\nhttps://example.org/2\n");
        let looked_at = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "check")]).await;
        for text in ["1 link can be created. 1 row is refused.", "custom_code: This code is taken.", "Eins; zwei"] {
            assert!(looked_at.text.contains(text), "{text}: {}", looked_at.text);
        }
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
        // The code is in use here; without it, the link is another one.
        let taken = browser.send("/app/import", "/app/import", &fields).await.text;
        assert!(taken.contains("0 links can be created. You have 1 link already."), "{taken}");
        let fields = [("table", file.text.replacen("short_code", "reason", 1)), ("action", "check".into())];
        let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
        assert!(browser.send("/app/import", "/app/import", &fields).await.text.contains("1 link can be created"));
    }

    async fn a_file_is_sent_as_it_is_and_its_service_is_found_out(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = crate::support::unique();
        let csrf = super::browser::token(&browser.get("/app/import").await.text);
        // As Excel of old writes it.
        let file = format!("keyword;url;title;clicks\r\n{code};https://example.org/;B\u{fc}cher;3\r\n");
        let file: Vec<u8> = file.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect();
        let looked_at = browser.upload("/app/import", &[("csrf", &csrf), ("from", "auto"), ("table", ""), ("action", "check")], &file).await;
        for text in ["1 link can be created.", "Found out: YOURLS", "B\u{fc}cher", "<bdi>keyword</bdi></td><td>Code", "Create 1 link"] {
            assert!(looked_at.text.contains(text), "{text}: {}", looked_at.text);
        }
        let broken = browser.upload("/app/import", &[("csrf", &csrf), ("action", "check")], b"target_url,title\nhttps://example.org/,\xc3\xbc \xff\n").await;
        assert_eq!(broken.status, 422);
        assert!(broken.text.contains("Some letters of the file cannot be read."), "{}", broken.text);
    }

    async fn the_columns_of_a_table_of_another_kind_are_matched_by_a_person(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = crate::support::unique();
        let table = format!("Long URL,Back-half,Colour,Remark\nhttps://example.org/,{code},red,for the fair\n");
        let fields = [("from", "auto"), ("table", table.as_str()), ("action", "check")];
        let looked_at = browser.send("/app/import", "/app/import", &fields).await.text;
        for text in [
            "1 link can be created.", "aria-label=\"What the column Colour becomes\"><option value=\"\">Not imported",
            "<option value=\"target_url\" selected>", "<option value=\"custom_code\" selected>",
        ] {
            assert!(looked_at.contains(text), "{text}: {looked_at}");
        }
        let twice = ["target_url", "custom_code", "title", "title"].map(|field| ("match", field));
        let refused = browser.send("/app/import", "/app/import", &[&fields[..], &twice].concat()).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("title: Two columns"), "{}", refused.text);
        let matched = ["target_url", "custom_code", "", "note"].map(|field| ("match", field));
        let fields = [("from", "auto"), ("table", table.as_str()), ("action", "make")];
        let made = browser.send("/app/import", "/app/import", &[&fields[..], &matched].concat()).await.text;
        assert!(made.contains("1 link was created."), "{made}");
        let page = browser.get(&format!("/app/links/{code}")).await.text;
        assert!(page.contains("for the fair") && !page.contains(">red<"), "{page}");
        // Without a look at its columns nothing is left out in silence.
        let unseen = browser.send("/app/import", "/app/import", &fields).await;
        assert_eq!(unseen.status, 422);
        assert!(unseen.text.contains("This column is unknown here"), "{}", unseen.text);
    }
}
