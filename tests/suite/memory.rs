//! The memory of the caches.

use std::ops::Range;

use futures_util::{StreamExt, stream};

use crate::support::{App, Mode};

/// Number of links; their encoded targets take 27 MB together.
const LINKS: usize = 8_000;

const COPIES: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 8000)
    INSERT INTO links (short_code, target_url, owner_id, created_at)
    SELECT short_code || '-' || n, target_url, owner_id, created_at FROM links, numbers WHERE short_code = $1";

/// Follows each link once; returns by how many KiB the process grew.
async fn growth(mode: Mode, memory: &str) -> u64 {
    let app = App::start_with(mode, &[("CACHE_MEMORY_MIB", memory)]).await;
    let token = app.register().await;
    let target = format!("https://example.org/{}", "ä".repeat(590));
    let code = app.shorten(&token, &target).await;
    app.backend.execute(COPIES, &code).await;
    let follow = async |numbers: Range<usize>| {
        let paths = numbers.map(|number| format!("/{code}-{number}"));
        let visits = stream::iter(paths).map(|path| {
            let app = &app;
            async move { app.get(&path).await.status }
        });
        let mut visits = visits.buffer_unordered(32);
        while let Some(status) = visits.next().await {
            assert_eq!(status, 302);
        }
    };
    // Connections and batches get their memory first.
    follow(1..1_000).await;
    let before = app.server.resident_kib();
    follow(1_000..LINKS + 1).await;
    let grown = app.server.resident_kib().saturating_sub(before);
    app.finish().await;
    grown
}

#[tokio::test]
async fn cached_links_stay_within_their_memory_however_long_their_targets_are() {
    for mode in [Mode::Embedded, Mode::Production] {
        let grown = growth(mode, "4").await;
        assert!(grown < 10 * 1_024, "{grown} KiB");
    }
    let grown = growth(Mode::Embedded, "256").await;
    assert!(grown > 15 * 1_024, "{grown} KiB is no growth to be bounded");
}
