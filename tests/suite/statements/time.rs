//! When a month has its statement, and what it says of redirects that were answered.

use serde_json::json;

use super::{KEY, ask, is_verified, key_set, read, statement};
use crate::support::{App, FakeClock, Mode, Response, eventually};

const PERSON: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

async fn visit(app: &App, code: &str, agent: &str) {
    let request = app.request(reqwest::Method::GET, &format!("/{code}"));
    let visited = Response::of(request.header("User-Agent", agent)).await;
    assert_eq!(visited.status, 302, "{visited:?}");
}

/// Waits until the series has this many people.
async fn has_people(app: &App, code: &str, people: u64) {
    let path = format!("/urls/{code}/stats/series?interval=month");
    eventually("bots are told from people", async || {
        let series = app.get(&path).await;
        series.status == 200 && series.json()["people"] == people
    })
    .await;
}

async fn through_the_end_of_a_month(mode: Mode) {
    let clock = FakeClock::right();
    clock.set_to("2026-05-20T10:00:00Z");
    // A token that lasts for months.
    let settings = [
        ("STATEMENT_KEY", KEY),
        ("JWT_TTL_SECONDS", "31536000"),
        ("LIMIT_CREATE", "0"),
    ];
    let app = clock.app(mode, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    visit(&app, &code, PERSON).await;
    visit(&app, &code, BOT).await;
    has_people(&app, &code, 1).await;
    for moment in ["2026-05-31T23:50:00Z", "2026-06-01T00:10:00Z"] {
        clock.set_to(moment);
        visit(&app, &code, PERSON).await;
        let refused = ask(&app, &token, &code, "month=2026-05").await;
        refused.is_error(409, "month: has its statement from 2026-06-01T00:15:00Z on");
    }
    has_people(&app, &code, 3).await;
    clock.set_to("2026-06-01T00:20:00Z");
    let text = statement(&app, &token, &code, "month=2026-05").await;
    let found = read(&text);
    assert_eq!(
        (&found["clicks"], &found["people"]),
        (&json!(3), &json!(2)),
        "{found}"
    );
    let of_day = |clicks: u64, people: u64, date: &str| json!({"date": date, "clicks": clicks, "people": people});
    assert_eq!(found["days"][19], of_day(2, 1, "2026-05-20"));
    assert_eq!(found["days"][30], of_day(1, 1, "2026-05-31"));
    let issued = found["issued_at"].as_str().unwrap();
    assert!(issued.starts_with("2026-06-01T00:2"), "{issued}");
    // In Tokyo the end was nine hours ago, in New York it is four hours away.
    let tokyo = statement(&app, &token, &code, "month=2026-05&tz=Asia/Tokyo").await;
    assert_eq!(read(&tokyo)["clicks"], 2);
    let refused = ask(&app, &token, &code, "month=2026-05&tz=America/New_York").await;
    refused.is_error(409, "month: has its statement from 2026-06-01T04:15:00Z on");
    let keys = key_set(&app).await;
    assert!(is_verified(&text, &keys) && is_verified(&tokyo, &keys));
    app.server_only().await;
}

mod a_month_has_its_statement_a_quarter_of_an_hour_after_its_end {
    use super::{Mode, through_the_end_of_a_month};

    #[tokio::test]
    async fn embedded() {
        through_the_end_of_a_month(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        through_the_end_of_a_month(Mode::Production).await;
    }
}
