//! Harm to the service itself.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::readers::Readers;
use crate::support::{App, Mode};
use crate::{WITHOUT_REDIS, quick_or_long, under_load, warm_links};

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
    let readers = Readers::through_restarts(&address, &load.books);
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
    let readers = Readers::through_restarts(&address, &load.books);
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
    // Where a connection is closed just when somebody asks anew, nothing of that was begun.
    readers.end_with(books.are_exact(&app)).await;
    app.finish().await;
}

mod sigterm_under_full_load_cuts_no_answer_off_and_loses_no_click {
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
