//! The metrics that Prometheus scrapes.

use crate::support::{App, Mode, RedisServer, both_modes, eventually};

both_modes! {
    async fn redirects_requests_batches_and_pools_are_measured(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
        assert_eq!(app.visit("/nobody1").await.status, 404);
        let expected = [
            "shunt_build_info{",
            "shunt_redirects_total{result=\"unknown\"} 1",
            "shunt_redirect_duration_seconds_count 4",
            "shunt_http_requests_total{method=\"POST\",route=\"/urls/shorten\",status=\"200\"} 1",
            "shunt_click_batch_clicks_sum 3",
            "shunt_database_connections{state=\"in_use\"}",
            "shunt_password_hashing{state=\"waiting\"} 0",
            "process_cpu_seconds_total",
        ];
        eventually("all of it is published", async || {
            let metrics = app.get("/metrics").await.text;
            expected.iter().all(|line| metrics.contains(line))
        })
        .await;
        // A in_source-up path must not become a label.
        assert!(!app.get("/metrics").await.text.contains("nobody1"));
    }

    async fn published_metrics_match_the_reference(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let metrics = app.get("/metrics").await.text;
        let of_shunt = |kind: &'static str| {
            let lines = metrics.lines().filter_map(move |line| line.strip_prefix(kind));
            lines.filter(|line| line.starts_with("shunt_")).filter_map(|line| line.split_once(' '))
        };
        for (name, help) in of_shunt("# HELP ") {
            assert_eq!(row(name)[3], help, "{name}");
        }
        for (name, kind) in of_shunt("# TYPE ") {
            assert_eq!(row(name)[1], kind, "{name}");
        }
        for (sample, labels) in metrics.lines().filter_map(|line| line.strip_prefix("shunt_")?.split_once('{')) {
            let name = ["_bucket", "_sum", "_count"].iter().find_map(|end| sample.strip_suffix(end));
            let row = row(&format!("shunt_{}", name.unwrap_or(sample)));
            for label in labels.split("\",").filter_map(|label| Some(label.split_once('=')?.0)) {
                assert!(label == "le" || row[2].contains(&format!("`{label}`")), "{label}: {row:?}");
            }
        }
    }
}

/// The reference lists every metric of the source, and no other.
#[test]
fn every_metric_is_in_the_reference() {
    let source = include_str!("../../src/telemetry/metrics.rs");
    let mut in_source: Vec<_> = source
        .split('"')
        .filter(|text| text.starts_with("shunt_"))
        .collect();
    let mut in_reference: Vec<_> = REFERENCE
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|name| name.starts_with("shunt_"))
        .collect();
    in_source.sort_unstable();
    in_reference.sort_unstable();
    assert_eq!(in_source, in_reference);
}

const REFERENCE: &str = include_str!("../../deploy/metrics.md");

/// A row of the reference: name, type, labels and meaning.
fn row(name: &str) -> [&'static str; 4] {
    let begin = format!("| `{name}` |");
    let row = REFERENCE.lines().find(|line| line.starts_with(&begin));
    let row = row.unwrap_or_else(|| panic!("{name} is not in the reference"));
    let mut cells = row.trim_matches(['|', ' ']).splitn(4, " | ").map(str::trim);
    std::array::from_fn(|_| cells.next().unwrap())
}

/// The other instance may fail to flush, and this one would not know.
#[tokio::test]
async fn an_instance_that_leaves_flushing_to_another_reports_no_flush_of_its_own() {
    let redis = RedisServer::start(&[]).await;
    let settings = [
        ("REDIS_URL", &*redis.url()),
        ("FLUSH_INTERVAL_MS", "20"),
        ("CLICK_DEADLINE_MS", "20000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let lease = format!("{{{}}}:flusher", app.backend.prefix());
    let mut connection = redis.connection().await;
    let mut set = redis::cmd("SET");
    let set = set.arg(lease).arg("another instance");
    set.exec_async(&mut connection).await.unwrap();
    eventually("the age of its own last flush grows", async || {
        const NAME: &str = "shunt_clicks_pending_oldest_seconds{shard=\"0\"} ";
        let metrics = app.get("/metrics").await.text;
        let value = metrics.lines().find_map(|line| line.strip_prefix(NAME));
        value.unwrap().parse::<f64>().unwrap() > 3.0
    })
    .await;
    app.finish().await;
}

mod pools {
    use crate::support::{App, Mode, eventually};

    #[tokio::test]
    async fn connections_of_sqlite_are_measured() {
        let app = App::start(Mode::Embedded).await;
        eventually("the pool is published", async || {
            let metrics = app.get("/metrics").await.text;
            metrics.contains("shunt_database_connections{state=\"waiting\"} 0")
        })
        .await;
        app.finish().await;
    }

    #[tokio::test]
    async fn connections_of_postgres_and_redis_are_measured() {
        let app = App::start(Mode::Production).await;
        eventually("both pools are published", async || {
            let metrics = app.get("/metrics").await.text;
            ["shunt_database_connections", "shunt_redis_pool_connections"]
                .iter()
                .all(|pool| {
                    metrics.contains(&format!("{pool}{{state=\"waiting\"}} 0"))
                        && metrics.contains(&format!("{pool}_max "))
                })
        })
        .await;
        app.finish().await;
    }
}
