//! `shunt import --from-url`: links of a running Shlink, Kutt or YOURLS. shunt speaks all three (`src/compat`, whose shapes are those of
//! the sources named in `src/cli/client/import/remote/pages.rs`), so links go from one shunt to another.

mod front;

use std::fs;
use std::path::Path;
use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use self::front::{Front, Treatment};
use super::abuse::send;
use crate::cli::support::{Finished, Person, Service, run};
use crate::support::{App, both_modes, eventually};

/// More than two pages.
const LINKS: usize = 120;
const PROTOCOLS: [&str; 3] = ["shlink", "kutt", "yourls"];

/// A person at another shunt, who imports from the service of the test.
struct Mover {
    key: String,
    ada: Person,
    folder: TempDir,
    _there: Service,
}

impl Mover {
    async fn of(app: &App, links: &[Value]) -> Self {
        let token = app.register().await;
        let made = send(app, Method::POST, &token, "/urls/bulk", &json!(links))
            .await
            .json();
        for (link, outcome) in links.iter().zip(made.as_array().unwrap()) {
            assert_eq!(outcome["status"], 200, "{link}: {outcome}");
        }
        let key = json!({"name": "import", "scope": "read"});
        let key = send(app, Method::POST, &token, "/auth/keys", &key).await;
        let there = Service::start_with(&[("LIMIT_CREATE", "0")]);
        Self {
            key: key.json()["key"].as_str().unwrap().to_owned(),
            ada: Person::registered(&there, "ada@example.org"),
            folder: tempfile::tempdir().unwrap(),
            _there: there,
        }
    }

    fn command(&self, from: &str, url: &str, more: &[&str]) -> std::process::Command {
        let line = [&["import", "--from", from, "--from-url", url], more].concat();
        let mut command = self.ada.command(&line);
        command
            .current_dir(self.folder.path())
            .env("SHUNT_FROM_KEY", &self.key);
        command
    }

    fn imports(&self, from: &str, url: &str, more: &[&str]) -> Finished {
        run(&mut self.command(from, url, more), "")
    }

    /// The links here, by their codes.
    fn links(&self) -> Vec<Value> {
        let export = self.ada.runs(&["export", "--format", "ndjson"]).succeeds();
        let mut links: Vec<Value> = export
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        links.sort_by_key(|link| link["short_code"].as_str().unwrap().to_owned());
        links
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn links() -> Vec<Value> {
    (0..LINKS)
        .map(|at| {
            json!({
                "custom_code": format!("code-{at:03}"), "target_url": format!("https://example.org/{at}?a=b#c"),
                "title": format!("Title {at}"), "clicks": at,
            })
        })
        .collect()
}

fn are_all_there(mover: &Mover) {
    let there = mover.links();
    assert_eq!(there.len(), LINKS);
    for (link, expected) in there.iter().zip(links()) {
        for name in ["target_url", "title", "clicks"] {
            assert_eq!(link[name], expected[name], "{link}");
        }
        assert_eq!(link["short_code"], expected["custom_code"]);
    }
}

fn done(finished: &Finished) -> Value {
    assert_eq!(finished.code, 0, "{finished:?}");
    serde_json::from_str(&finished.out).unwrap()
}

both_modes! {
    async fn links_are_read_page_by_page_from_each_api(app) {
        for from in PROTOCOLS {
            let mover = Mover::of(app, &[]).await;
            // Each protocol needs an account of its own: a code is there once.
            let mover = if from == "shlink" { Mover::of(app, &links()).await } else {
                let links: Vec<_> = links().into_iter().map(|mut link| {
                    link["custom_code"] = format!("{from}-{}", link["custom_code"].as_str().unwrap()).into();
                    link
                }).collect();
                drop(mover);
                Mover::of(app, &links).await
            };
            let base = &app.server.base;
            let tried = mover.imports(from, base, &["--dry-run"]).succeeds();
            assert!(tried.starts_with(&format!("importable  {LINKS} links\n")), "{tried}");
            assert_eq!((mover.names(), mover.links().len()), (Vec::new(), 0));
            let out = mover.imports(from, base, &[]).succeeds();
            let clicks = LINKS * (LINKS - 1) / 2;
            assert_eq!(out, format!("imported    {LINKS} links\nclicks      {clicks} counted by the other service are the starting counts of these links\n"));
            let there = mover.links();
            for (at, link) in there.iter().enumerate() {
                assert_eq!((&link["title"], &link["clicks"]), (&json!(format!("Title {at}")), &json!(at)), "{link}");
                assert_eq!(link["target_url"], format!("https://example.org/{at}?a=b#c"));
            }
            // Its links are kept, and reading them again makes nothing twice.
            let host = base.trim_start_matches("http://").replace(':', "_");
            assert_eq!(mover.names(), [format!("{from}-{host}.ndjson")]);
            let again = done(&mover.imports(from, base, &["--json"]));
            assert_eq!((&again["imported"], &again["already_there"]), (&json!(LINKS), &json!(LINKS)));
            assert_eq!(mover.links().len(), LINKS);
        }
    }

    async fn what_a_link_has_in_shlink_comes_along(app) {
        let rules = json!([{"when": {"os": "iOS"}, "target_url": "https://example.org/ios"}]);
        let mover = Mover::of(app, &[json!({
            "custom_code": "full", "target_url": "https://example.org/", "tags": ["print", "spring"], "max_clicks": 1_000, "clicks": 7,
            "starts_at": "2026-01-01T00:00:00Z", "expires_at": "2099-01-01T00:00:00Z", "rules": rules, "title": "Spring",
        })]).await;
        mover.imports("shlink", &app.server.base, &[]).succeeds();
        let link = &mover.links()[0];
        for (name, value) in [
            ("tags", json!(["print", "spring"])), ("max_clicks", json!(1_000)), ("clicks", json!(7)), ("forward_query", json!(false)),
            ("starts_at", json!("2026-01-01T00:00:00Z")), ("expires_at", json!("2099-01-01T00:00:00Z")), ("rules", rules), ("title", json!("Spring")),
        ] {
            assert_eq!(link[name], value, "{link}");
        }
    }

    async fn a_link_of_kutt_with_a_password_is_refused_and_named(app) {
        let link = |code: &str| json!({"custom_code": code, "target_url": "https://example.org/"});
        let mut locked = link("locked");
        locked["password"] = "Correct-Horse-7".into();
        let mover = Mover::of(app, &[link("open-to-all"), locked]).await;
        let finished = mover.imports("kutt", &app.server.base, &["kept.ndjson"]);
        assert_eq!((finished.code, &*finished.err), (1, "shunt: 1 link was refused\n"), "{finished:?}");
        let refused = fs::read_to_string(mover.folder.path().join("kept.ndjson.refused.csv")).unwrap();
        assert!(refused.contains("is protected by a password whose hash is missing") && refused.contains(",locked,"), "{refused}");
        assert_eq!(mover.links().len(), 1);
    }

    async fn a_reading_that_is_killed_goes_on_where_it_was(app) {
        let mover = Mover::of(app, &links()).await;
        for from in PROTOCOLS {
            // Two pages come, the third does not.
            let front = Front::before(&app.server.base, &[Treatment::Pass, Treatment::Pass, Treatment::Wait]);
            let mut reading = mover.command(from, &front.url, &["links"]).stderr(Stdio::null()).spawn().unwrap();
            eventually("the third page is asked for", async || front.left() == 0).await;
            reading.kill().unwrap();
            reading.wait().unwrap();
            assert_eq!(front.requests.lock().unwrap().len(), 3);
            let out = done(&mover.imports(from, &front.url, &["links", "--json"]));
            assert_eq!(out["imported"], LINKS, "{out}");
            assert_eq!(front.requests.lock().unwrap().len(), 4, "only the third page is asked for");
            are_all_there(&mover);
            assert_eq!(mover.names(), ["links"]);
            fs::remove_file(mover.folder.path().join("links")).unwrap();
        }
    }

    async fn an_import_that_is_killed_goes_on_with_what_was_read(app) {
        let mover = Mover::of(app, &links()).await;
        let links = mover.folder.path().join("links");
        mover.imports("shlink", &app.server.base, &["links"]).succeeds();
        // As it was left in the middle of a batch.
        let state = json!({
            "service": mover.ada.runs(&["whoami", "--json"]).json()["url"], "account": 1, "done": 0, "fingerprint": "",
            "refused_bytes": 0, "new_codes_bytes": 0,
            "tally": {"imported": 0, "already_there": 0, "refused": 0, "new_codes": 0, "clicks": 0, "notes": {}},
        });
        fs::write(Path::new(&format!("{}.shunt-import.json", links.display())), state.to_string()).unwrap();
        // Nothing is asked for: there is no service any more.
        let out = done(&mover.imports("shlink", "http://127.0.0.1:1", &["links", "--json"]));
        assert_eq!((&out["imported"], &out["already_there"]), (&json!(LINKS), &json!(LINKS)));
    }

    async fn a_busy_service_is_asked_again(app) {
        let mover = Mover::of(app, &links()).await;
        let front = Front::before(&app.server.base, &[
            Treatment::Answer("429 Too Many Requests\r\nRetry-After: 1"), Treatment::Pass, Treatment::Answer("502 Bad Gateway\r\nRetry-After: 1"),
            Treatment::HangUp,
        ]);
        let finished = mover.imports("yourls", &front.url, &["links"]);
        assert_eq!(finished.code, 0, "{finished:?}");
        for word in ["answered 429; trying again in 1 s", "answered 502; trying again in 1 s", "cannot be reached: "] {
            assert!(finished.err.contains(word), "{finished:?}");
        }
        are_all_there(&mover);
        // The key is in no address.
        let requests = front.requests.lock().unwrap();
        assert!(requests.iter().all(|request| request.starts_with("POST /yourls-api.php HTTP/1.1\n")), "{requests:?}");
    }

    async fn what_is_wrong_is_said_at_once(app) {
        let mover = Mover::of(app, &links()).await;
        for from in PROTOCOLS {
            let mut command = mover.command(from, &app.server.base, &[]);
            let finished = run(command.env("SHUNT_FROM_KEY", "shunt_wrong"), "");
            finished.fails(3, "does not accept the key for ");
            assert!(!finished.err.contains("shunt_wrong"));
            mover.imports(from, "http://127.0.0.1:1", &[]).fails(5, "http://127.0.0.1:1 cannot be reached: ");
            // The key goes nowhere else.
            let front = Front::before(&app.server.base, &[Treatment::Answer("302 Found\r\nLocation: http://127.0.0.1:1/")]);
            mover.imports(from, &front.url, &[]).fails(1, "answers with a redirect to http://127.0.0.1:1/; give that address with --from-url");
            let front = Front::before(&app.server.base, &[Treatment::Answer("200 OK")]);
            mover.imports(from, &front.url, &[]).fails(1, "; is the address right?");
        }
        mover.imports("dub", &app.server.base, &[]).fails(2, "--from-url reads from shlink, kutt and yourls only");
        let mut command = mover.command("kutt", &app.server.base, &[]);
        // Without the variable it is asked for.
        let finished = run(command.env_remove("SHUNT_FROM_KEY"), &format!("{}\n", mover.key));
        assert!(finished.out.starts_with("imported"), "{finished:?}");
    }
}
