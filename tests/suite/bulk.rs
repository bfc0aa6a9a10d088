//! Many links in one call, and all links of an account as a file.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{App, Mode, Response, both_modes, eventually, links};

const TARGET: &str = "https://example.org/";

async fn post(app: &App, token: &str, kind: &str, body: impl Into<reqwest::Body>) -> Response {
    let request = app.request(Method::POST, "/urls/bulk").bearer_auth(token);
    Response::of(request.header("content-type", kind).body(body)).await
}

async fn bulk(app: &App, token: &str, links: &Value) -> Vec<Value> {
    results(&post(app, token, "application/json", links.to_string()).await)
}

fn results(response: &Response) -> Vec<Value> {
    assert_eq!(response.status, 200, "{response:?}");
    response.json().as_array().unwrap().clone()
}

fn statuses(results: &[Value]) -> Vec<u64> {
    let statuses = results.iter().map(|result| result["status"].as_u64());
    statuses.collect::<Option<_>>().unwrap()
}

async fn full_list(app: &App, token: &str) -> Vec<Value> {
    let list = app.get_as(token, "/urls/my?view=full").await.json();
    list.as_array().unwrap().clone()
}

async fn export(app: &App, token: &str, format: &str) -> Response {
    let response = app
        .get_as(token, &format!("/urls/export?format={format}"))
        .await;
    assert_eq!(response.status, 200, "{response:?}");
    response
}

/// A link without what differs between two accounts.
fn properties(link: &Value) -> Value {
    let mut link = link.clone();
    for field in ["id", "created_at", "updated_at"] {
        link.as_object_mut().unwrap().remove(field);
    }
    link
}

both_modes! {
    async fn many_links_are_made_in_their_order(app) {
        let token = app.register().await;
        let links: Vec<_> = (0..2_500).map(|number| json!({"target_url": format!("{TARGET}{number}")})).collect();
        let made = bulk(app, &token, &json!(links)).await;
        assert_eq!(made.len(), 2_500);
        for (number, result) in made.iter().enumerate() {
            assert_eq!(result.as_object().unwrap().len(), 6);
            assert_eq!(result["status"], 200);
            assert_eq!(result["target_url"], format!("{TARGET}{number}"));
            assert_eq!((&result["clicks"], &result["is_active"]), (&json!(0), &json!(true)));
        }
        let list = app.get_as(&token, "/urls/my").await.json();
        let newest_first: Vec<_> = made.iter().rev().map(|result| result["id"].clone()).collect();
        assert_eq!(list.as_array().unwrap().iter().map(|link| link["id"].clone()).collect::<Vec<_>>(), newest_first);
        let code = made[7]["short_code"].as_str().unwrap();
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), format!("{TARGET}7"));
    }

    async fn a_link_of_many_has_all_fields_of_a_single_one(app) {
        let token = app.register().await;
        let mut link = links::with_every_field(TARGET, "of-many");
        (link["is_active"], link["clicks"]) = (json!(false), json!(5));
        assert_eq!(statuses(&bulk(app, &token, &json!([link])).await), [200]);
        let link = &full_list(app, &token).await[0];
        for (field, value) in [
            ("short_code", json!("of-many")), ("is_active", json!(false)), ("clicks", json!(5)), ("status", json!("inactive")),
        ].into_iter().chain(links::fields()) {
            assert_eq!(link[field], value, "{field}");
        }
        assert_eq!(app.clicks("of-many").await, 5);
        assert_eq!(app.get_as(&token, "/urls/my?tag=north").await.json().as_array().unwrap().len(), 1);
    }

    async fn a_link_that_is_refused_stops_no_other(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        assert_eq!(statuses(&bulk(app, &bob, &json!([{"target_url": TARGET, "custom_code": "taken-1"}])).await), [200]);
        let links = json!([
            {"target_url": TARGET},
            {"target_url": "nowhere"},
            {"target_url": TARGET, "custom_code": "taken-1"},
            {"target_url": TARGET, "custom_code": "twice"},
            {"target_url": TARGET, "custom_code": "twice"},
            7,
            {"target": TARGET},
            {"target_url": TARGET, "expires_at": "2020-01-01T00:00:00Z"},
            {"target_url": TARGET, "clicks": -1},
            {"custom_code": "none"},
            {"target_url": TARGET, "custom_code": "bulk"},
            {"target_url": TARGET},
        ]);
        let results = bulk(app, &ada, &links).await;
        assert_eq!(statuses(&results), [200, 422, 409, 200, 409, 422, 422, 422, 422, 422, 422, 200]);
        for (place, detail) in [
            (1, "target_url: must be an absolute http:// or https:// URL with a host"),
            (2, "custom_code: is taken"), (4, "custom_code: is taken"), (5, "body: must be a JSON object"),
            (6, "target: is not known here; did you mean target_url?"), (7, "expires_at: must be in the future"),
            (8, "clicks: must be a whole number from 0 to 9007199254740991"), (9, "target_url: field is required"),
            (10, "custom_code: is a word that this service uses itself; choose another"),
        ] {
            assert_eq!(results[place]["detail"], detail);
        }
        assert_eq!(full_list(app, &ada).await.len(), 3);
    }

    async fn a_broken_document_makes_no_link(app) {
        let token = app.register().await;
        let many = vec![json!({"target_url": TARGET}); 10_001];
        let no_column = "custom_code\r\nabcd\r\n";
        for (kind, body, detail) in [
            ("application/json", String::new(), "body: must be a JSON array of objects"),
            ("application/json", json!({"target_url": TARGET}).to_string(), "body: must be a JSON array of objects"),
            ("application/json", format!(r#"[{{"target_url":"{TARGET}"}},"#), "body: must be a JSON array of objects, but is malformed at line 1, column 39"),
            ("application/json", json!(many).to_string(), "body: must have at most 10000 links; send the others in another call"),
            ("text/csv", format!("target_url\n{}", format!("{TARGET}\n").repeat(10_001)), "body: must have at most 10000 links; send the others in another call"),
            ("text/csv", no_column.to_owned(), "target_url: column is required"),
            ("text/csv", "target_url,titel\n".to_owned(), "titel: is not known here; did you mean title?"),
            ("text/csv", "target_url,title,title\n".to_owned(), "title: is the name of two columns; remove one column"),
        ] {
            post(app, &token, kind, body).await.is_error(422, detail);
        }
        assert!(full_list(app, &token).await.is_empty());
        assert_eq!(post(app, &token, "application/json", "[]").await.text, "[]\n");
    }

    async fn a_table_that_is_sent_as_something_else_is_refused_with_the_kinds_that_are_taken(app) {
        let token = app.register().await;
        let table = format!("target_url\n{TARGET}\n");
        let array = json!([{"target_url": TARGET}]).to_string();
        let detail = "Content-Type: must be text/csv for a table with a header line, or application/json for an array of objects";
        for kind in [Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/octet-stream"), None] {
            let send = async |body: &str| {
                let mut request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).body(body.to_owned());
                if let Some(kind) = kind {
                    request = request.header("content-type", kind);
                }
                Response::of(request).await
            };
            send(&table).await.is_error(422, detail);
            // An array is one whatever it is sent as.
            assert_eq!(send(&array).await.status, 200, "{kind:?}");
        }
    }

    async fn a_key_of_idempotency_is_refused_and_codes_make_a_repetition_harmless(app) {
        let token = app.register().await;
        let links = json!([{"target_url": TARGET, "custom_code": "repeated"}]);
        let request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).header("Idempotency-Key", "k 1");
        let detail = "Idempotency-Key: must be left out here; give each link a custom_code instead, and a repetition makes none twice";
        Response::of(request.json(&links)).await.is_error(422, detail);
        assert!(full_list(app, &token).await.is_empty());
        assert_eq!(statuses(&bulk(app, &token, &links).await), [200]);
        assert_eq!(statuses(&bulk(app, &token, &links).await), [409]);
        assert_eq!(full_list(app, &token).await.len(), 1);
    }

    async fn ten_thousand_links_are_made_in_one_call(app) {
        let token = app.register().await;
        let links = vec![json!({"target_url": TARGET}); 10_000];
        let made = bulk(app, &token, &json!(links)).await;
        assert!(made.iter().all(|result| result["status"] == 200));
        assert_eq!(made.len(), 10_000);
    }

    async fn a_code_that_was_unknown_is_followed_at_once(app) {
        let token = app.register().await;
        for code in ["first-of-2", "second-of-2"] {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 404);
        }
        let links = json!([{"target_url": TARGET, "custom_code": "first-of-2"}, {"target_url": TARGET, "custom_code": "second-of-2"}]);
        bulk(app, &token, &links).await;
        for code in ["first-of-2", "second-of-2"] {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
    }

    async fn a_line_of_csv_is_a_link(app) {
        let token = app.register().await;
        let csv = "\u{feff}title,target_url,tags,is_active,clicks,custom_code\r\n\
            \"a \"\"b\"\", c\",https://example.org/1,\"x,y\",FALSE,3,\r\n\
            '=1+1,https://example.org/2,,,,'-dash\r\n\
            short,https://example.org/3\r\n\
            long,https://example.org/5,,,,,seven\r\n\
            ,,,,,\r\n\
            bad,https://example.org/4,,perhaps,,\r\n";
        let made = results(&post(app, &token, "Text/CSV; charset=utf-8", csv).await);
        assert_eq!(statuses(&made), [200, 200, 200, 422, 422, 422]);
        assert_eq!(made[3]["detail"], "row: has 7 cells, but the header line has only 6");
        assert_eq!(made[4]["detail"], "target_url: must not be empty");
        assert_eq!(made[5]["detail"], "is_active: must be true or false");
        let list = full_list(app, &token).await;
        let by_target = |target: &str| list.iter().find(|link| link["target_url"] == target).unwrap();
        let (one, two) = (by_target("https://example.org/1"), by_target("https://example.org/2"));
        assert_eq!((&one["title"], &one["tags"]), (&json!("a \"b\", c"), &json!(["x", "y"])));
        assert_eq!((&one["is_active"], &one["clicks"]), (&json!(false), &json!(3)));
        assert_eq!((&two["title"], &two["short_code"]), (&json!("=1+1"), &json!("-dash")));
    }

    async fn tables_of_all_spreadsheets_are_the_same_links(app) {
        let token = app.register().await;
        let title = "Eins; zwei für 5 €";
        let table = |code: &str| format!("sep=;\r\nTarget_URL;custom_code;title\r\n{TARGET};{code};\"{title}\"\r\n{TARGET};{code}-b\r\n");
        let utf_16 = |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
        let windows = |text: &str| text.chars().map(|letter| if letter == '€' { 0x80 } else { u8::try_from(letter).unwrap() }).collect::<Vec<_>>();
        for (code, body) in [
            ("spread-8", table("spread-8").into_bytes()), ("spread-m", format!("\u{feff}{}", table("spread-m")).into_bytes()),
            ("spread-w", windows(&table("spread-w"))), ("spread-t", table("spread-t").replace(';', "\t").replace("Eins\t", "Eins;").into_bytes()),
            ("spread-l", utf_16(&format!("\u{feff}{}", table("spread-l")), u16::to_le_bytes)),
            ("spread-b", utf_16(&format!("\u{feff}{}", table("spread-b")), u16::to_be_bytes)),
        ] {
            let made = results(&post(app, &token, "text/csv", body).await);
            assert_eq!(statuses(&made), [200, 200], "{code}: {made:?}");
            let link = app.get_as(&token, &format!("/urls/{code}")).await.json();
            assert_eq!(link["title"], title, "{code}");
        }
    }

    async fn a_quote_that_is_never_closed_makes_no_link_and_is_named_by_its_line(app) {
        let token = app.register().await;
        let row = |row| format!("{TARGET}{row},{}\n", if row == 9 { "\"open title" } else { "title" });
        let rows = (0..5_000).map(row).collect::<Vec<_>>().concat();
        let broken = post(app, &token, "text/csv", format!("target_url,title\n{rows}")).await;
        broken.is_error(422, "line 11: the quote that opens here is never closed");
        let closed = post(app, &token, "text/csv", format!("target_url,title\n{TARGET},\"open\n{TARGET},b\n{TARGET},\"Title, c\"\n")).await;
        closed.is_error(422, "line 2: the quote that opens here is closed only in line 4, in the middle of a cell; close it where its cell ends");
        assert!(full_list(app, &token).await.is_empty());
    }

    async fn a_dry_run_says_which_codes_are_taken_and_makes_nothing(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        bulk(app, &bob, &json!([{"target_url": TARGET, "custom_code": "of-bob-1"}, {"target_url": TARGET, "custom_code": "gone-of-bob"}])).await;
        app.delete(&bob, "gone-of-bob").await;
        bulk(app, &ada, &json!([{"target_url": TARGET, "custom_code": "own-gone"}])).await;
        app.delete(&ada, "own-gone").await;
        let links = json!([
            {"target_url": TARGET, "custom_code": "of-bob-1"}, {"target_url": TARGET, "custom_code": "gone-of-bob"},
            {"target_url": TARGET, "custom_code": "own-gone"}, {"target_url": TARGET, "custom_code": "twice-in-it"},
            {"target_url": TARGET, "custom_code": "twice-in-it"}, {"target_url": TARGET}, {"target_url": "nowhere"},
            {"target_url": TARGET, "expires_at": "2020-01-01T00:00:00Z"},
        ]);
        let request = app.request(Method::POST, "/urls/bulk?dry_run=true").bearer_auth(&ada).json(&links);
        let looked_at = results(&Response::of(request).await);
        assert_eq!(statuses(&looked_at), [409, 409, 200, 200, 409, 200, 422, 422]);
        assert_eq!(looked_at[2], json!({"status": 200, "short_code": "own-gone", "target_url": TARGET}));
        assert_eq!(looked_at[5], json!({"status": 200, "short_code": null, "target_url": TARGET}));
        assert!(full_list(app, &ada).await.is_empty());
        assert_eq!(statuses(&bulk(app, &ada, &links).await), [409, 409, 200, 200, 409, 200, 422, 422]);
    }

    async fn an_export_has_all_fields_and_is_a_file(app) {
        let token = app.register().await;
        bulk(app, &token, &json!([{"target_url": TARGET, "custom_code": "-formula", "title": "=1+1", "tags": ["a", "b"], "clicks": 2}])).await;
        let csv = export(app, &token, "csv").await;
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(csv.header("content-disposition"), "attachment; filename=\"links.csv\"");
        let link = &full_list(app, &token).await[0];
        let (id, created) = (&link["id"], link["created_at"].as_str().unwrap());
        let base = &app.server.base;
        let lines = export(app, &token, "ndjson").await;
        // The columns are the fields of a line, in the same order.
        let fields = lines.text.split(['{', ',']).filter_map(|field| field.split_once(':'));
        let names: Vec<_> = fields.map(|(name, _)| name.trim_matches('"')).collect();
        let set = "id,short_code,short_url,target_url,title,tags,clicks,is_active,status,created_at,updated_at,";
        let unset = names[11..].iter().map(|name| &link[*name]);
        let unset: Vec<_> = unset.map(|value| if value.is_null() || *value == json!([]) { String::new() } else { value.to_string() }).collect();
        assert_eq!(csv.text, format!(
            "{set}{}\r\n{id},'-formula,{base}/-formula,{TARGET},'=1+1,\"a,b\",2,true,active,{created},{created},{}\r\n",
            names[11..].join(","), unset.join(",")));
        assert_eq!(lines.header("content-type"), "application/x-ndjson");
        assert_eq!(lines.header("content-disposition"), "attachment; filename=\"links.ndjson\"");
        assert_eq!(serde_json::from_str::<Value>(lines.text.trim_end()).unwrap(), *link);
    }

    async fn no_cell_of_an_export_is_a_formula_to_a_spreadsheet_and_all_are_read_back(app) {
        let token = app.register().await;
        let titles = [" =1", "\u{a0}=1", "\u{3000}+1", "\u{200b}-1", "\u{feff}@a", "\u{ff1d}1", "\u{ff0b}1", "\u{ff0d}1", " \u{ff20}a", "'=1", "' \u{ff1d}1"];
        let links: Vec<_> = titles.iter().map(|title| json!({"target_url": TARGET, "title": title, "tags": ["\u{ff1d}1"]})).collect();
        assert_eq!(statuses(&bulk(app, &token, &json!(links)).await), [200; 11]);
        let exported = export(app, &token, "csv").await.text;
        for title in titles {
            assert!(exported.contains(&format!(",'{title},'\u{ff1d}1,")), "{title:?} in {exported}");
        }
        for link in full_list(app, &token).await {
            app.delete(&token, link["short_code"].as_str().unwrap()).await;
        }
        assert_eq!(statuses(&results(&post(app, &token, "text/csv", exported).await)), [200; 11]);
        let read: BTreeSet<_> = full_list(app, &token).await.iter().map(|link| link["title"].as_str().unwrap().to_owned()).collect();
        assert_eq!(read, titles.map(str::to_owned).into());
    }

    async fn an_export_makes_the_same_links_once_they_were_deleted(app) {
        let token = app.register().await;
        let links = json!([
            {"target_url": TARGET, "title": "'=tricky", "tags": ["+1"], "clicks": 7, "is_active": false},
            {"target_url": format!("{TARGET}?a=\"b\",c"), "custom_code": "with_code", "max_clicks": 3, "clicks": 3},
            {"target_url": TARGET, "expires_at": "2020-01-01T00:00:00Z", "created_at": "2019-01-01T00:00:00Z"}, links::with_every_field(TARGET, "every-field"),
        ]);
        assert_eq!(statuses(&bulk(app, &token, &links).await), [200; 4]);
        for (format, kind) in [("csv", "text/csv"), ("ndjson", "application/x-ndjson")] {
            let exported = export(app, &token, format).await.text;
            let again = results(&post(app, &token, kind, exported.clone()).await);
            assert_eq!(statuses(&again), [409; 4], "the codes are in use");
            let mut before: Vec<_> = full_list(app, &token).await.iter().map(properties).collect();
            for link in &before {
                app.delete(&token, link["short_code"].as_str().unwrap()).await;
            }
            assert_eq!(statuses(&results(&post(app, &token, kind, exported).await)), [200; 4], "{format}");
            let mut after: Vec<_> = full_list(app, &token).await.iter().map(properties).collect();
            for list in [&mut before, &mut after] {
                list.sort_by_key(|link| link["short_code"].as_str().unwrap().to_owned());
            }
            assert_eq!(after, before, "{format}");
        }
    }

    async fn an_export_without_a_known_format_is_refused(app) {
        let token = app.register().await;
        for (query, detail) in [
            ("", "format: query parameter is required"), ("format=xls", "format: must be csv or ndjson"),
            ("format=csv&q=a", "q: is not known here; known names are format, secrets"),
        ] {
            app.get_as(&token, &format!("/urls/export?{query}")).await.is_error(422, detail);
        }
        app.get("/urls/export?format=csv").await.is_error(401, "Not authenticated");
        post(app, "x", "text/csv", "").await.is_error(401, "Not authenticated");
    }

    async fn calls_at_once_are_bounded_by_account(app) {
        let token = app.register().await;
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(slow_call(app, &token).await);
        }
        let answers = calls.iter_mut().map(|call| Box::pin(beginning(call)));
        let (answer, refused, _) = futures_util::future::select_all(answers).await;
        assert_eq!(answer, "HTTP/1.1 429");
        calls.remove(refused);
        calls[0].write_all(b"]").await.unwrap();
        assert_eq!(beginning(&mut calls[0]).await, "HTTP/1.1 200");
        eventually("a call may begin again", async || {
            post(app, &token, "application/json", "[]").await.status == 200
        })
        .await;
    }
}

/// The beginning of a response.
async fn beginning(stream: &mut TcpStream) -> String {
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    String::from_utf8_lossy(&begin).into_owned()
}

/// A call whose body has not come to its end.
async fn slow_call(app: &App, token: &str) -> TcpStream {
    let address = app.server.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /urls/bulk HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n["
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn links_of_a_call_are_made_up_to_the_quota_exactly() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("LINKS_PER_ACCOUNT", "600")]).await;
        let token = app.register().await;
        let links = vec![json!({"target_url": TARGET}); 400];
        assert_eq!(
            statuses(&bulk(&app, &token, &json!(links)).await),
            [200; 400]
        );
        let results = bulk(&app, &token, &json!(links)).await;
        assert_eq!(
            statuses(&results),
            [vec![200; 200], vec![403; 200]].concat()
        );
        let detail = "This account has the maximum of 600 links; delete links to make room";
        assert_eq!(results[399]["detail"], detail);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_call_counts_each_link_and_calls_in_a_row_are_refused() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("LIMIT_CREATE", "600")]).await;
        let token = app.register().await;
        let links = json!(vec![json!({"target_url": TARGET}); 10_000]);
        let first = post(&app, &token, "application/json", links.to_string()).await;
        assert_eq!(results(&first).len(), 10_000);
        let again = post(&app, &token, "application/json", links.to_string()).await;
        assert_eq!(again.status, 429);
        assert_eq!(app.limit_hits("bulk").await, 1);
        app.shorten(&token, TARGET).await;
        app.finish().await;
    }
}
