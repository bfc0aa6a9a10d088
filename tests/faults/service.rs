//! Harm to the service itself.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::support::{App, Mode};
use crate::{quick_or_long, under_load, warm_links};

/// Some milliseconds, another number each time.
fn moment(most: u64) -> Duration {
    Duration::from_millis(getrandom::u64().unwrap() % most)
}

async fn killed(mode: Mode) {
    // Flushes all the time, so that it is also killed while it writes back. Patient: where a busy machine
    // makes both sinks miss their deadline, clicks are in memory alone, and are lost with it; that is not
    // promised.
    let settings = [("FLUSH_INTERVAL_MS", "20"), ("CLICK_DEADLINE_MS", "10000")];
    let mut app = App::start_with(mode, &settings).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    for _ in 0..quick_or_long(20, 200) {
        sleep(moment(300)).await;
        app.server.kill();
        app.server = app.another(&settings).await;
        address.moves_to(&app.server.base);
    }
    sleep(Duration::from_millis(300)).await;
    let books = load.stop().await;
    assert_eq!(books.refused(), 0);
    books.are_right(&app).await;
    app.finish().await;
}

mod a_service_killed_at_random_moments_loses_no_click {
    use super::{Mode, killed};

    #[tokio::test]
    async fn embedded() {
        killed(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        killed(Mode::Production).await;
    }
}

async fn told_to_stop(mode: Mode) {
    let mut app = App::start(mode).await;
    let codes = warm_links(&app).await;
    for _ in 0..quick_or_long(3, 20) {
        let (address, load) = under_load(&app, &codes).await;
        let asked = Instant::now();
        app.server.stop().await;
        assert!(
            asked.elapsed() < Duration::from_secs(20),
            "{:?}",
            asked.elapsed()
        );
        assert_eq!(load.books.torn(), 0, "an answer broke off");
        assert_eq!(load.books.refused(), 0);
        app.server = app.another(&[]).await;
        address.moves_to(&app.server.base);
        sleep(Duration::from_millis(200)).await;
        load.stop().await;
    }
    app.finish().await;
}

mod sigterm_under_full_load_cuts_no_answer_off_and_loses_no_click {
    use super::{Mode, told_to_stop};

    #[tokio::test]
    async fn embedded() {
        told_to_stop(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        told_to_stop(Mode::Production).await;
    }
}
