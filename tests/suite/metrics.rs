//! The metrics that Prometheus scrapes.

use sqlx::Connection;

use crate::support::{App, Mode, RedisServer, both_modes, eventually};

#[expect(dead_code, reason = "a build script is a program")]
#[path = "../../build.rs"]
mod build;

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
            "shunt_journal_batches ",
            "shunt_outbox_changes ",
        ];
        eventually("all of it is published", async || {
            let metrics = app.get("/metrics").await.text;
            expected.iter().all(|line| metrics.contains(line))
        })
        .await;
        // A in_source-up path must not become a label.
        assert!(!app.get("/metrics").await.text.contains("nobody1"));
    }

    async fn version_and_revision_are_labels_of_one_metric(app) {
        let metrics = app.get("/metrics").await.text;
        let of_build = metrics.lines().filter(|line| line.starts_with("shunt_build_info{"));
        let of_build: Vec<_> = of_build.collect();
        assert_eq!(of_build.len(), 1);
        for label in [concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), concat!("revision=\"", env!("SHUNT_REVISION"), "\"")] {
            assert!(of_build[0].contains(label), "{of_build:?}");
        }
    }

    async fn the_cpu_time_of_a_redirect_can_be_told(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for name in ["shunt_worker_cpu_seconds_total", "shunt_cpu_seconds_total"] {
            let before = value(app, name).await.unwrap();
            eventually("a few redirects make a difference", async || {
                assert_eq!(app.get(&format!("/docs/{code}")).await.status, 404);
                let now = value(app, name).await.unwrap();
                // Whole seconds would be none.
                now > before && now - before < 1.0
            })
            .await;
        }
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

/// A metric without labels, or with those in the name.
async fn value(app: &App, name: &str) -> Option<f64> {
    let metrics = app.get("/metrics").await.text;
    let mut samples = metrics
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    samples.next().map(|value| value.parse().unwrap())
}

async fn eventually_is(app: &App, name: &str, expected: f64) {
    eventually(name, async || {
        value(app, name)
            .await
            .is_some_and(|value| (value - expected).abs() < 0.5)
    })
    .await;
}

/// Otherwise the first event would be no increase.
#[tokio::test]
async fn every_value_of_the_label_of_a_counter_is_there_before_its_first_event() {
    let app = App::start(Mode::Production).await;
    let metrics = app.get("/metrics").await.text;
    let mut checked = 0;
    for line in REFERENCE
        .lines()
        .filter(|line| line.starts_with("| `shunt_") && line.contains("| counter |"))
    {
        let name = line.split('`').nth(1).unwrap();
        for label in row(name)[2].split(';') {
            let mut quoted = label.split('`').skip(1).step_by(2);
            let Some(label) = quoted.next() else { continue };
            for value in quoted {
                let sample = format!("{label}=\"{value}\"");
                let is_there =
                    |line: &str| line.starts_with(&format!("{name}{{")) && line.contains(&sample);
                assert!(metrics.lines().any(is_there), "{name} {sample}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 24, "{checked}");
    for sample in [
        r#"shunt_http_requests_total{method="POST",route="/urls/shorten",status="503"} 0"#,
        r#"shunt_http_requests_total{method="DELETE",route="/urls/{short_code}",status="500"} 0"#,
        r#"shunt_http_requests_total{method="POST",route="/auth/login",status="401"} 0"#,
        r#"shunt_redis_errors_total{shard="0"} "#,
        r#"shunt_redis_rolled_back_total{shard="0"} 0"#,
        r#"shunt_clicks_in_doubt{shard="0"} 0"#,
        r#"shunt_redis_up{shard="0"} 1"#,
    ] {
        assert!(metrics.contains(sample), "{sample}");
    }
    app.finish().await;
}

/// Long enough that nothing is written back during a test.
const NO_FLUSH: (&str, &str) = ("FLUSH_INTERVAL_MS", "60000");

#[tokio::test]
async fn links_with_clicks_pending_in_redis_are_measured() {
    let app = App::start_with(
        Mode::Production,
        &[NO_FLUSH, ("CLICK_DEADLINE_MS", "20000")],
    )
    .await;
    let token = app.register().await;
    let pending = "shunt_redis_pending_links{shard=\"0\"}";
    eventually_is(&app, pending, 0.0).await;
    for _ in 0..3 {
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..2 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
    }
    eventually_is(&app, pending, 3.0).await;
    app.finish().await;
}

#[tokio::test]
async fn the_journal_and_the_disk_of_sqlite_are_measured() {
    let app = App::start_with(Mode::Embedded, &[NO_FLUSH]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let before = value(&app, "shunt_journal_batches").await.unwrap_or(0.0);
    for _ in 0..2 {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    eventually_is(&app, "shunt_journal_batches", before + 2.0).await;
    let file = app.backend.folder().join("shunt.db");
    #[expect(clippy::cast_precision_loss, reason = "a small file")]
    let bytes = std::fs::metadata(&file).unwrap().len() as f64;
    eventually_is(&app, "shunt_sqlite_bytes{file=\"database\"}", bytes).await;
    let free = value(&app, "shunt_sqlite_disk_free_bytes").await.unwrap();
    let size = value(&app, "shunt_sqlite_disk_bytes").await.unwrap();
    assert!(0.0 < free && free <= size, "{free} of {size}");
    assert!(
        value(&app, "shunt_sqlite_bytes{file=\"log\"}")
            .await
            .is_some()
    );
    app.finish().await;
}

/// Changes wait in the outbox while Redis is away.
#[tokio::test]
async fn changes_in_the_outbox_are_measured() {
    let mut redis = RedisServer::start(&[]).await;
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &redis.url())]).await;
    let token = app.register().await;
    redis.kill();
    let before = value(&app, "shunt_outbox_changes").await.unwrap_or(0.0);
    let url = app
        .backend
        .settings()
        .into_iter()
        .find(|(name, _)| name == "DATABASE_URL");
    let mut database = sqlx::PgConnection::connect(&url.unwrap().1).await.unwrap();
    for number in 1..=2 {
        let code = app.shorten(&token, "https://example.org/").await;
        sqlx::query("UPDATE links SET is_active = false WHERE short_code = $1")
            .bind(&code)
            .execute(&mut database)
            .await
            .unwrap();
        eventually_is(&app, "shunt_outbox_changes", before + f64::from(number)).await;
    }
    app.finish().await;
}

/// The reference lists every metric of the source, and no other.
#[test]
fn every_metric_is_in_the_reference() {
    let source = concat!(
        include_str!("../../src/telemetry/metrics.rs"),
        include_str!("../../src/telemetry/exposition.rs")
    );
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

mod revision {
    use std::fs;

    use super::build;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn the_revision_is_the_commit_that_is_checked_out() {
        let root = tempfile::tempdir().unwrap();
        let made = |name: &str, files: &[(&str, &str)]| {
            let folder = root.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            for (file, text) in files {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            build::revision(&folder).map(|found| found.revision)
        };
        let line = &*format!("{COMMIT}\n");
        let head = (".git/HEAD", "ref: refs/heads/main\n");
        let short = Some("0123456789ab".to_owned());
        assert_eq!(made("detached", &[(".git/HEAD", line)]), short);
        assert_eq!(
            made("loose", &[head, (".git/refs/heads/main", line)]),
            short
        );
        let packed = format!(
            "# pack-refs with: peeled\n{} refs/heads/other\n{COMMIT} refs/heads/main\n",
            "f".repeat(40)
        );
        assert_eq!(
            made("packed", &[head, (".git/packed-refs", &packed)]),
            short
        );
        let tree = [
            (".git", "gitdir: of-tree\n"),
            ("of-tree/HEAD", "ref: refs/heads/main\n"),
            ("of-tree/commondir", "../common\n"),
            ("common/refs/heads/main", line),
        ];
        assert_eq!(made("work-tree", &tree), short);
        assert_eq!(made("none", &[]), None);
        assert_eq!(made("broken", &[(".git/HEAD", "what\n")]), None);
        assert_eq!(made("unborn", &[head]), None);
    }
}
