//! The program as a child process.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How long a start or a stop may take, also on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Settings that are removed from the environment of the program, so that a developer's own do not leak in.
const SETTINGS: [&str; 81] = [
    "BIND",
    "BASE_URL",
    "DATABASE_URL",
    "DATABASE_REPLICA_URL",
    "DATABASE_MAX_CONNECTIONS",
    "NO_MIGRATE",
    "REDIS_URL",
    "REDIS_PREFIX",
    "REDIS_SHARDS",
    "JWT_SECRET",
    "JWT_TTL_SECONDS",
    "STATEMENT_KEY",
    "METRICS_BIND",
    "LOG_FORMAT",
    "RUST_LOG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "WORKERS",
    "CACHE_MAX_LINKS",
    "CACHE_TTL_SECONDS",
    "LOOKUP_CONCURRENCY",
    "CLICK_DEADLINE_MS",
    "FLUSH_INTERVAL_MS",
    "HASHING_CONCURRENCY",
    "LIMIT_LOGIN",
    "LIMIT_LOGIN_FAILURES",
    "LIMIT_ACCOUNT_FAILURES",
    "LINKS_PER_ACCOUNT",
    "CODE_LENGTH",
    "CUSTOM_CODE_MIN",
    "SETTINGS_FILE",
    "MAX_CONNECTIONS_PER_ADDRESS",
    "MIN_READ_BYTES_PER_SECOND",
    "LIMIT_REGISTER",
    "LIMIT_REGISTER_DAY",
    "LIMIT_CREATE",
    "LIMIT_CREATE_DAY_MIB",
    "DATABASE_MAX_MIB",
    "LIMIT_MISSES",
    "PRIVATE_TARGETS",
    "REGISTRATION",
    "STATS",
    "ADMIN_EMAIL",
    "SMTP_URL",
    "MAIL_FROM",
    "ADMIN_PASSWORD_FILE",
    "REQUIRE_TWO_FACTORS",
    "OIDC_ISSUER",
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "OIDC_SCOPES",
    "OIDC_ADMIN_GROUP",
    "OIDC_ONLY",
    "PASSWORD_LOGIN",
    "AUDIT_DAYS",
    "TRASH_DAYS",
    "EVENTS_DAYS",
    "HOOK_TARGETS",
    "BLOCKLIST",
    "NOINDEX",
    "SECURITY_CONTACT",
    "QR_LOGO",
    "SITE_NAME",
    "SITE_CONTACT",
    "HOME_REDIRECT",
    "NOT_FOUND_REDIRECT",
    "COMPAT",
    "TRUSTED_PROXIES",
    "ANALYTICS",
    "GEOIP_DATABASE",
    "ANALYTICS_DETAIL_DAYS",
    "ANALYTICS_REDIS_MIB",
    "ANALYTICS_ROWS_PER_DAY",
    "MAX_CONNECTIONS",
    "MAX_REQUESTS",
    "DATABASE_QUEUE_MS",
    "REQUEST_TIMEOUT_SECONDS",
    "HEADER_TIMEOUT_SECONDS",
    "MAX_HEADER_BYTES",
    "BODY_TIMEOUT_SECONDS",
    "MAX_BODY_BYTES",
    "SHUTDOWN_TIMEOUT_SECONDS",
];

/// The line of settings for load tests (`load/README.md`): every client of a test has the same address. And no request is refused
/// because the machine of the tests is slow. Tests of limits set their own.
const WITHOUT_LIMITS: [(&str, &str); 9] = [
    ("LIMIT_LOGIN", "0"),
    ("LIMIT_LOGIN_FAILURES", "0"),
    ("LIMIT_ACCOUNT_FAILURES", "0"),
    ("LIMIT_REGISTER", "0"),
    ("LIMIT_CREATE", "0"),
    ("LIMIT_MISSES", "0"),
    ("LINKS_PER_ACCOUNT", "0"),
    ("MAX_CONNECTIONS_PER_ADDRESS", "0"),
    ("DATABASE_QUEUE_MS", "0"),
];

/// A running instance; killed when dropped.
pub(crate) struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    /// Reads the log, to the end of the process.
    reader: Option<thread::JoinHandle<()>>,
    pub(crate) base: String,
}

/// How an instance ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

/// The program with these settings alone.
pub(crate) fn command(settings: &[(String, String)]) -> Command {
    with(Command::new(env!("CARGO_BIN_EXE_shunt")), settings)
}

/// The address that the line of a JSON log gives where the program listens.
fn address_in_log(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let fields = line.get("fields")?;
    let is_listening = fields["message"] == "listening";
    let address = fields["address"].as_str().filter(|_| is_listening)?;
    Some(format!("http://{address}"))
}

fn with(mut command: Command, settings: &[(String, String)]) -> Command {
    for name in SETTINGS {
        command.env_remove(name);
    }
    command.envs(WITHOUT_LIMITS).envs(settings.iter().cloned());
    command
}

impl Server {
    /// Starts an instance, on a free port unless `BIND` is given, and waits until it takes traffic.
    pub(crate) async fn start(settings: &[(String, String)]) -> Self {
        Self::start_program(Path::new(env!("CARGO_BIN_EXE_shunt")), settings).await
    }

    /// Starts an instance that may open this many files.
    pub(crate) async fn start_within(files: u32, settings: &[(String, String)]) -> Self {
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -n {files} && exec \"$0\"");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_shunt")]);
        Self::run(with(shell, settings), settings).await
    }

    /// Starts an instance of another program.
    pub(crate) async fn start_program(program: &Path, settings: &[(String, String)]) -> Self {
        Self::run(with(Command::new(program), settings), settings).await
    }

    async fn run(mut command: Command, settings: &[(String, String)]) -> Self {
        if settings.iter().all(|(name, _)| name != "BIND") {
            command.env("BIND", "127.0.0.1:0");
        }
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (addresses, mut found) = tokio::sync::mpsc::unbounded_channel();
        let of_screen = addresses.clone();
        // Reads to the end: a full pipe would stop the program.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("listening on ") {
                    let _ = of_screen.send(address.trim().to_owned());
                }
            }
        });
        let log = Arc::<Mutex<String>>::default();
        let lines = Arc::clone(&log);
        let reader = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                eprintln!("{line}");
                if let Some(address) = address_in_log(&line) {
                    let _ = addresses.send(address);
                }
                let mut lines = lines.lock().unwrap();
                lines.push_str(&line);
                lines.push('\n');
            }
        });
        let address = tokio::time::timeout(TIMEOUT, found.recv()).await;
        let Some(base) = address.ok().flatten() else {
            let _ = child.kill();
            panic!("the program did not start: {}", log.lock().unwrap());
        };
        let server = Self {
            child,
            log,
            reader: Some(reader),
            base,
        };
        super::eventually("ready", async || {
            reqwest::get(format!("{}/ready", server.base))
                .await
                .is_ok_and(|response| response.status() == 200)
        })
        .await;
        server
    }

    /// The status of a redirect.
    pub(crate) async fn follow(&self, code: &str) -> u16 {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let response = client.get(format!("{}/{code}", self.base)).send().await;
        response.unwrap().status().as_u16()
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The resident memory, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        self.memory_kib("VmRSS:")
    }

    /// The most that was ever resident, in KiB.
    pub(crate) fn peak_kib(&self) -> u64 {
        self.memory_kib("VmHWM:")
    }

    fn memory_kib(&self, kind: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(kind));
        line.unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap()
    }

    /// `kill -9`; afterwards the log is complete.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    /// Sends a signal by name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.pid().to_string())
            .status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end of the process.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program did not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends SIGTERM and waits for a clean end.
    pub(crate) async fn stop(&mut self) {
        self.signal("TERM");
        let status = self.ended().await;
        assert_eq!(status.code(), Some(0), "a requested stop ends with 0");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the program with settings that it refuses, until it ends by itself.
pub(crate) fn refused(settings: &[(String, String)]) -> Ended {
    let mut all = vec![("BIND".to_owned(), "127.0.0.1:0".to_owned())];
    all.extend_from_slice(settings);
    let mut child = command(&all)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("the program went on");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    Ended {
        status: child.wait().unwrap(),
        stderr,
    }
}
