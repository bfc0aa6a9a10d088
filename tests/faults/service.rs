//! Harm to the service itself.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::load::Address;
use crate::readers::Readers;
use crate::support::{App, Mode, RedisServer};
use crate::{VISITORS, WITHOUT_REDIS, quick_or_long, signal, under_load, warm_links};

/// Flushes all the time, so that it is also killed while it writes back.
const OFTEN: (&str, &str) = ("FLUSH_INTERVAL_MS", "20");

/// Where a busy machine makes both sinks miss their deadline, clicks are in memory alone, and are lost with
/// it; that is not promised.
const PATIENT: (&str, &str) = ("CLICK_DEADLINE_MS", "10000");

/// Some milliseconds, another number each time.
fn moment(most: u64) -> Duration {
    Duration::from_millis(getrandom::u64().unwrap() % most)
}

async fn killed(mode: Mode, settings: &[(&str, &str)]) {
    let settings = [&[OFTEN, PATIENT], settings].concat();
    let mut app = App::start_with(mode, &settings).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::through_restarts(&address, &load.books).await;
    for _ in 0..quick_or_long(20, 200) {
        sleep(moment(300)).await;
        app.server.kill();
        app.server = app.another(&settings).await;
        address.moves_to(&app.server.base);
    }
    sleep(Duration::from_millis(300)).await;
    let books = load.stop().await;
    assert_eq!(books.refused(), 0);
    readers.end_with(books.are_right(&app)).await;
    app.finish().await;
}

mod a_service_killed_at_random_moments_loses_no_click {
    use super::{Mode, WITHOUT_REDIS, killed};

    #[tokio::test]
    async fn embedded() {
        killed(Mode::Embedded, &[]).await;
    }

    #[tokio::test]
    async fn production() {
        killed(Mode::Production, &[]).await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        killed(Mode::Production, &[WITHOUT_REDIS]).await;
    }
}

/// With the deadline as it is by default; the books are those of each life, with links of its own.
async fn killed_in_a_hurry(mode: Mode, settings: &[(&str, &str)]) {
    let tells_of_late_sinks = ("RUST_LOG", "info,shunt::clicks::delivery=debug");
    let settings = [&[OFTEN, tells_of_late_sinks], settings].concat();
    let mut app = App::start_with(mode, &settings).await;
    let (lives, mut checked) = (quick_or_long(6, 60), 0);
    for _ in 0..lives {
        let codes = warm_links(&app).await;
        let (_, load) = under_load(&app, &codes).await;
        sleep(moment(300)).await;
        app.server.kill();
        let were_late = app.server.log().contains("the journal");
        let books = load.stop().await;
        app.server = app.another(&settings).await;
        if were_late {
            println!("not checked: both sinks were late on this machine");
            continue;
        }
        assert_eq!(books.refused(), 0);
        books.are_right(&app).await;
        checked += 1;
    }
    assert!(checked > 0, "both sinks were late in each of {lives} lives");
    app.finish().await;
}

mod a_service_killed_with_the_default_deadline_loses_no_click_that_a_sink_took_in_time {
    use super::{Mode, WITHOUT_REDIS, killed_in_a_hurry};

    #[tokio::test]
    async fn embedded() {
        killed_in_a_hurry(Mode::Embedded, &[]).await;
    }

    #[tokio::test]
    async fn production() {
        killed_in_a_hurry(Mode::Production, &[]).await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        killed_in_a_hurry(Mode::Production, &[WITHOUT_REDIS]).await;
    }
}

async fn told_to_stop(mode: Mode, settings: &[(&str, &str)]) {
    let mut app = App::start_with(mode, settings).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::through_restarts(&address, &load.books).await;
    for _ in 0..quick_or_long(3, 20) {
        sleep(moment(500)).await;
        let asked = Instant::now();
        app.server.stop().await;
        let took = asked.elapsed();
        assert!(took < Duration::from_secs(20), "{took:?} for a stop");
        app.server = app.another(settings).await;
        address.moves_to(&app.server.base);
        sleep(Duration::from_millis(300)).await;
    }
    let books = load.stop().await;
    assert_eq!((books.torn(), books.refused()), (0, 0));
    // None, where the machine does not stall for longer than a connection in use stays open.
    let (cut_off, stops) = (books.cut_off(), quick_or_long(3_u64, 20));
    println!("{cut_off} asked on a connection that was closed just then, in {stops} stops");
    assert!(
        cut_off < stops * VISITORS as u64 / 2,
        "{cut_off} were cut off"
    );
    // Where a connection is closed just when somebody asks anew, nothing of that was begun.
    readers.end_with(books.are_exact(&app)).await;
    app.finish().await;
}

mod sigterm_under_full_load_cuts_off_no_response_and_loses_no_click {
    use super::{Mode, WITHOUT_REDIS, told_to_stop};

    #[tokio::test]
    async fn embedded() {
        told_to_stop(Mode::Embedded, &[]).await;
    }

    #[tokio::test]
    async fn production() {
        told_to_stop(Mode::Production, &[]).await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        told_to_stop(Mode::Production, &[WITHOUT_REDIS]).await;
    }
}

#[tokio::test]
async fn a_response_under_way_at_a_stop_announces_that_its_connection_closes() {
    let redis = RedisServer::start(&[]).await;
    let url = redis.url();
    // A click waits for a Redis that hangs for half of this.
    let settings = [("REDIS_URL", url.as_str()), ("CLICK_DEADLINE_MS", "4000")];
    let mut app = App::start_with(Mode::Production, &settings).await;
    let code = app
        .shorten(&app.register().await, "https://example.org/")
        .await;
    let address = Address::of(&app.server.base).now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
    let mut head = [0; 1_024];
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(stream.read(&mut head).await.unwrap() > 0);
    signal(redis.child.id(), "STOP");
    stream.write_all(request.as_bytes()).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    app.server.signal("TERM");
    let mut last = String::new();
    stream.read_to_string(&mut last).await.unwrap();
    signal(redis.child.id(), "CONT");
    assert!(last.starts_with("HTTP/1.1 302"), "{last}");
    // Whoever is not told sends the next request into a connection that is closed.
    assert!(last.contains("connection: close"), "{last}");
    assert_eq!(app.server.ended().await.code(), Some(0));
    app.server = app.another(&settings).await;
    assert_eq!(app.clicks(&code).await, 2);
    app.finish().await;
}
