//! Visitors that never stop, and the books of what they were answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::support::{App, eventually};

/// How long a visitor waits: longer than anything is allowed to take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was asked and answered, per link.
pub(crate) struct Books {
    links: Vec<Link>,
    /// Connections that broke under a request: it may or may not have been counted.
    cut_off: AtomicU64,
    /// Answers that broke off in their middle.
    torn: AtomicU64,
    /// Answers other than a redirect.
    refused: AtomicU64,
    slowest: AtomicU64,
    begun: Instant,
    /// Microseconds after `begun`: only what is sent later counts for the slowest.
    watched_from: AtomicU64,
}

struct Link {
    code: String,
    sent: AtomicU64,
    answered: AtomicU64,
}

/// Where the visitors go; they follow an instance that is started anew.
#[derive(Clone)]
pub(crate) struct Address(Arc<RwLock<String>>);

impl Address {
    pub(crate) fn of(base: &str) -> Self {
        let address = Self(Arc::default());
        address.moves_to(base);
        address
    }

    pub(crate) fn moves_to(&self, base: &str) {
        let address = base.trim_start_matches("http://");
        address.clone_into(&mut self.0.write().unwrap());
    }

    pub(crate) fn now(&self) -> String {
        self.0.read().unwrap().clone()
    }
}

/// Visitors at work.
pub(crate) struct Load {
    pub(crate) books: Arc<Books>,
    stop: Arc<AtomicBool>,
    visitors: Vec<JoinHandle<()>>,
}

impl Books {
    pub(crate) fn answered(&self) -> u64 {
        self.total(|link| &link.answered)
    }

    /// Redirects of one link.
    pub(crate) fn answered_to(&self, link: usize) -> u64 {
        self.links[link].answered.load(Ordering::SeqCst)
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

    pub(crate) fn torn(&self) -> u64 {
        self.torn.load(Ordering::SeqCst)
    }

    /// The slowest answer since this was asked last.
    pub(crate) fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.swap(0, Ordering::SeqCst))
    }

    /// From here on the slowest is that of redirects which are sent later.
    pub(crate) fn watch_from_now(&self) {
        let now = micros(self.begun.elapsed());
        self.watched_from.store(now, Ordering::SeqCst);
        self.slowest.store(0, Ordering::SeqCst);
    }

    fn took(&self, sent: Instant) {
        let from = self.watched_from.load(Ordering::SeqCst);
        if micros(sent.duration_since(self.begun)) >= from {
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
    pub(crate) async fn are_right(&self, app: &App) -> Vec<u64> {
        let counts = self.counts(app).await;
        for (link, clicks) in self.links.iter().zip(&counts) {
            let (answered, sent) = link.both();
            assert!(answered <= *clicks, "{answered} answered, {clicks} counted");
            assert!(*clicks <= sent, "{sent} sent, {clicks} counted");
            if self.cut_off() == 0 && self.refused() == 0 {
                assert_eq!(*clicks, answered);
            }
        }
        counts
    }

    /// For every link as many clicks as answered redirects: what got no answer was not begun, and may be
    /// asked again by whoever asked.
    pub(crate) async fn are_exact(&self, app: &App) -> Vec<u64> {
        let counts = self.counts(app).await;
        for (link, clicks) in self.links.iter().zip(&counts) {
            let (answered, sent) = link.both();
            assert_eq!(answered, *clicks, "{sent} sent");
        }
        counts
    }

    /// The clicks, link by link, once they are to be had.
    pub(crate) async fn counts(&self, app: &App) -> Vec<u64> {
        let mut counts = Vec::new();
        for link in &self.links {
            let path = format!("/urls/{}/stats", link.code);
            eventually("the count is to be had", async || {
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
    /// `visitors` on keep-alive connections, each asking for one link after the other.
    pub(crate) fn start(address: &Address, codes: &[String], visitors: usize) -> Self {
        let books = Arc::new(Books {
            links: codes.iter().cloned().map(Link::of).collect(),
            cut_off: AtomicU64::new(0),
            torn: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            slowest: AtomicU64::new(0),
            begun: Instant::now(),
            watched_from: AtomicU64::new(0),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let visitor = |number| {
            let (address, books, stop) = (address.clone(), Arc::clone(&books), Arc::clone(&stop));
            tokio::spawn(async move { visit(number, &address, &books, &stop).await })
        };
        Self {
            visitors: (0..visitors).map(visitor).collect(),
            books,
            stop,
        }
    }

    /// Lets every visitor wait for the last answer.
    pub(crate) async fn stop(self) -> Arc<Books> {
        self.stop.store(true, Ordering::SeqCst);
        for visitor in self.visitors {
            visitor.await.unwrap();
        }
        self.books
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

    /// Answered and sent.
    fn both(&self) -> (u64, u64) {
        let answered = self.answered.load(Ordering::SeqCst);
        (answered, self.sent.load(Ordering::SeqCst))
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap()
}

async fn visit(number: usize, address: &Address, books: &Books, stop: &AtomicBool) {
    let mut turn = number;
    while !stop.load(Ordering::SeqCst) {
        let Ok(mut stream) = TcpStream::connect(address.now()).await else {
            // Nobody is there just now.
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        while !stop.load(Ordering::SeqCst) {
            turn = turn.wrapping_add(1);
            let link = &books.links[turn % books.links.len()];
            let request = format!("GET /{} HTTP/1.1\r\nHost: test\r\n\r\n", link.code);
            let begun = Instant::now();
            link.sent.fetch_add(1, Ordering::SeqCst);
            if stream.write_all(request.as_bytes()).await.is_err() {
                books.cut_off.fetch_add(1, Ordering::SeqCst);
                break;
            }
            let response = timeout(PATIENCE, answer(&mut stream)).await;
            match response.expect("no answer takes so long") {
                Answered::Whole { status: 302, stays } => {
                    link.answered.fetch_add(1, Ordering::SeqCst);
                    books.took(begun);
                    if !stays {
                        break;
                    }
                }
                Answered::Whole { .. } => {
                    books.refused.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Answered::Nothing => {
                    books.cut_off.fetch_add(1, Ordering::SeqCst);
                    break;
                }
                Answered::Torn => {
                    books.torn.fetch_add(1, Ordering::SeqCst);
                    books.cut_off.fetch_add(1, Ordering::SeqCst);
                    break;
                }
            }
        }
    }
}

enum Answered {
    Whole { status: u16, stays: bool },
    Nothing,
    Torn,
}

/// Reads up to the end of the head; bodies are of no interest, so a connection with one is given up.
async fn answer(stream: &mut TcpStream) -> Answered {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) if head.is_empty() => return Answered::Nothing,
            Ok(0) | Err(_) => return Answered::Torn,
            Ok(length) => head.extend_from_slice(&piece[..length]),
        }
        if head.windows(4).any(|end| end == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&head).to_lowercase();
            return Answered::Whole {
                status: head[9..12].parse().unwrap(),
                stays: !head.contains("connection: close"),
            };
        }
    }
}
