//! Clients that never pause, and a tally of their requests and responses.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::support::{App, eventually};

/// How long a client waits: longer than any response is allowed to take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client's pause between two requests: a load that leaves most of the machine to other tests.
const PAUSE: Duration = Duration::from_millis(16);

/// Requests and responses, per link.
pub(crate) struct Tally {
    links: Vec<Link>,
    /// Connections that broke under a request, which may or may not have been counted.
    cut_off: AtomicU64,
    /// Responses that broke off in their middle.
    truncated: AtomicU64,
    /// Responses other than a redirect.
    refused: AtomicU64,
    slowest: AtomicU64,
    started: Instant,
    /// In microseconds after `started`: only later requests count for the slowest.
    watched_from: AtomicU64,
}

struct Link {
    code: String,
    sent: AtomicU64,
    answered: AtomicU64,
}

/// The address of the instance under load, which may change with a restart.
#[derive(Clone)]
pub(crate) struct Address(Arc<RwLock<String>>);

impl Address {
    pub(crate) fn of(base: &str) -> Self {
        let address = Self(Arc::default());
        address.set(base);
        address
    }

    pub(crate) fn set(&self, base: &str) {
        let address = base.trim_start_matches("http://");
        address.clone_into(&mut self.0.write().unwrap());
    }

    pub(crate) fn current(&self) -> String {
        self.0.read().unwrap().clone()
    }
}

/// Clients under way.
pub(crate) struct Load {
    pub(crate) tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Tally {
    pub(crate) fn answered(&self) -> u64 {
        self.total(|link| &link.answered)
    }

    /// Answered redirects of one link.
    pub(crate) fn answered_to(&self, link: usize) -> u64 {
        self.links[link].answered.load(Ordering::SeqCst)
    }

    /// Redirects of one link that were requested.
    pub(crate) fn sent_to(&self, link: usize) -> u64 {
        self.links[link].sent.load(Ordering::SeqCst)
    }

    pub(crate) fn codes(&self) -> Vec<String> {
        self.links.iter().map(|link| link.code.clone()).collect()
    }

    pub(crate) fn sent(&self) -> u64 {
        self.total(|link| &link.sent)
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::SeqCst)
    }

    pub(crate) fn cut_off(&self) -> u64 {
        self.cut_off.load(Ordering::SeqCst)
    }

    pub(crate) fn truncated(&self) -> u64 {
        self.truncated.load(Ordering::SeqCst)
    }

    /// The slowest response since the last call.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.swap(0, Ordering::SeqCst))
    }

    /// Forgets the slowest response, and ignores redirects that were sent before now.
    pub(crate) fn watch_from_now(&self) {
        let now = micros(self.started.elapsed());
        self.watched_from.store(now, Ordering::SeqCst);
        self.slowest.store(0, Ordering::SeqCst);
    }

    fn record_latency(&self, sent: Instant) {
        let from = self.watched_from.load(Ordering::SeqCst);
        if micros(sent.duration_since(self.started)) >= from {
            let took = micros(sent.elapsed());
            self.slowest.fetch_max(took, Ordering::SeqCst);
        }
    }

    fn total(&self, of: impl Fn(&Link) -> &AtomicU64) -> u64 {
        let counts = self
            .links
            .iter()
            .map(|link| of(link).load(Ordering::SeqCst));
        counts.sum()
    }

    /// For every link: answered redirects <= clicks <= sent redirects; equality where nothing was cut off.
    /// Returns the clicks, link by link.
    pub(crate) async fn check_bounds(&self, app: &App) -> Vec<u64> {
        let counts = self.counts(app).await;
        for (link, clicks) in self.links.iter().zip(&counts) {
            let (answered, sent) = link.service();
            assert!(answered <= *clicks, "{answered} answered, {clicks} counted");
            assert!(*clicks <= sent, "{sent} sent, {clicks} counted");
            if self.cut_off() == 0 && self.refused() == 0 {
                assert_eq!(*clicks, answered);
            }
        }
        counts
    }

    /// For every link as many clicks as answered redirects: a request without a response was not started, and the
    /// client may send it again.
    pub(crate) async fn check_exact(&self, app: &App) -> Vec<u64> {
        let counts = self.counts(app).await;
        for (link, clicks) in self.links.iter().zip(&counts) {
            let (answered, sent) = link.service();
            assert_eq!(answered, *clicks, "{sent} sent");
        }
        counts
    }

    /// The clicks, link by link, once they are available.
    pub(crate) async fn counts(&self, app: &App) -> Vec<u64> {
        let mut counts = Vec::new();
        for link in &self.links {
            let path = format!("/urls/{}/stats", link.code);
            eventually("the count is available", async || {
                app.get(&path).await.status == 200
            })
            .await;
            counts.push(app.clicks(&link.code).await);
        }
        println!(
            "{} sent, {} answered, {} counted, {} cut off, {} refused",
            self.sent(),
            self.answered(),
            counts.iter().sum::<u64>(),
            self.cut_off(),
            self.refused()
        );
        counts
    }
}

impl Load {
    /// Starts `clients` on keep-alive connections, each of which requests one link after the other, with pauses.
    pub(crate) fn start(address: &Address, codes: &[String], clients: usize) -> Self {
        Self::with_pauses(PAUSE, address, codes, clients)
    }

    /// The same without pauses: each client always waits for a response, and the machine has nothing to spare.
    pub(crate) fn full(address: &Address, codes: &[String], clients: usize) -> Self {
        Self::with_pauses(Duration::ZERO, address, codes, clients)
    }

    fn with_pauses(pause: Duration, address: &Address, codes: &[String], clients: usize) -> Self {
        let tally = Arc::new(Tally {
            links: codes.iter().cloned().map(Link::of).collect(),
            cut_off: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            slowest: AtomicU64::new(0),
            started: Instant::now(),
            watched_from: AtomicU64::new(0),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number| {
            let (address, tally, stop) = (address.clone(), Arc::clone(&tally), Arc::clone(&stop));
            tokio::spawn(async move { visit(number, pause, &address, &tally, &stop).await })
        };
        Self {
            clients: (0..clients).map(client).collect(),
            tally,
            stop,
        }
    }

    /// Stops every client after its last response.
    pub(crate) async fn stop(self) -> Arc<Tally> {
        self.stop.store(true, Ordering::SeqCst);
        for client in self.clients {
            client.await.unwrap();
        }
        self.tally
    }
}

impl Link {
    fn of(code: String) -> Self {
        Self {
            code,
            sent: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// The numbers of answered and sent requests.
    fn service(&self) -> (u64, u64) {
        let answered = self.answered.load(Ordering::SeqCst);
        (answered, self.sent.load(Ordering::SeqCst))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap()
}

async fn visit(
    number: usize,
    pause: Duration,
    address: &Address,
    tally: &Tally,
    stop: &AtomicBool,
) {
    let mut position = number;
    while !stop.load(Ordering::SeqCst) {
        let Ok(mut stream) = TcpStream::connect(address.current()).await else {
            // No instance listens at this moment.
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        while !stop.load(Ordering::SeqCst) {
            position = position.wrapping_add(1);
            let link = &tally.links[position % tally.links.len()];
            let request = format!("GET /{} HTTP/1.1\r\nHost: test\r\n\r\n", link.code);
            let started = Instant::now();
            link.sent.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(request.as_bytes()).await.is_err() {
                tally.cut_off.fetch_add(1, Ordering::SeqCst);
                break;
            }
            let response = timeout(TIMEOUT, read_response(&mut stream)).await;
            match response.expect("no response takes so long") {
                Outcome::Complete {
                    status: 302,
                    keep_alive,
                } => {
                    link.answered.fetch_add(1, Ordering::SeqCst);
                    tally.record_latency(started);
                    if !keep_alive {
                        break;
                    }
                    if !pause.is_zero() {
                        sleep(pause).await;
                    }
                }
                Outcome::Complete { .. } => {
                    tally.refused.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Outcome::Disconnected => {
                    tally.cut_off.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Outcome::Truncated => {
                    tally.truncated.fetch_add(1, Ordering::SeqCst);
                    tally.cut_off.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
        }
    }
}

enum Outcome {
    Complete { status: u16, keep_alive: bool },
    Disconnected,
    Truncated,
}

/// Reads up to the end of the head. A body is not read, so its connection is given up.
async fn read_response(stream: &mut TcpStream) -> Outcome {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) if head.is_empty() => return Outcome::Disconnected,
            Ok(0) | Err(_) => return Outcome::Truncated,
            Ok(length) => head.extend_from_slice(&piece[..length]),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&head).to_lowercase();
            return Outcome::Complete {
                status: head[9..12].parse().unwrap(),
                keep_alive: !head.contains("connection: close"),
            };
        }
    }
}
