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
