//! Readers of statistics: whatever happens, each number has every redirect that was answered before, none
//! falls, and at the end all are exact.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::load::{Address, Books};

/// How many read at once.
const READERS: usize = 8;

/// Of many links so many are read, half of them the oldest and half the newest: a round is to be short.
const LINKS: usize = 20;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two readings: a small machine has visitors to answer, too.
const PAUSE: Duration = Duration::from_millis(5);

/// Readers at work.
pub(crate) struct Readers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<u64>>>,
    links: Vec<usize>,
}

/// What no later number may be below, link by link.
struct Floor {
    /// The highest number that any reader was told.
    told: Vec<AtomicU64>,
    /// Of visitors of the same instance. Others may not know of clicks that are only in its memory.
    books: Option<Arc<Books>>,
}

struct Reader {
    client: Client,
    address: Address,
    codes: Arc<[String]>,
    /// Which of the links are read.
    links: Vec<usize>,
    floor: Arc<Floor>,
    /// Whether the instance may be gone, so that a request gets no answer.
    may_be_gone: bool,
    /// How many readers were told a number.
    at_work: Arc<AtomicUsize>,
}

impl Readers {
    /// Of the instance that these visitors go to, which stays: every request is answered.
    pub(crate) async fn start(address: &Address, books: &Arc<Books>) -> Self {
        Self::of(slice::from_ref(address), &books.codes(), Some(books), false).await
    }

    /// The same where it ends and begins anew.
    pub(crate) async fn through_restarts(address: &Address, books: &Arc<Books>) -> Self {
        Self::of(slice::from_ref(address), &books.codes(), Some(books), true).await
    }

    /// Shared out among several instances.
    pub(crate) async fn of_several(addresses: &[Address], codes: &[String]) -> Self {
        Self::of(addresses, codes, None, false).await
    }

    /// Returns once each of them was told a number: harm that begins then is done to readers at work.
    async fn of(
        addresses: &[Address],
        codes: &[String],
        books: Option<&Arc<Books>>,
        may_be_gone: bool,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let oldest_or_newest = |link: &usize| *link < LINKS / 2 || link + LINKS / 2 >= codes.len();
        let links: Vec<_> = (0..codes.len()).filter(oldest_or_newest).collect();
        let floor = Arc::new(Floor {
            told: codes.iter().map(|_| AtomicU64::new(0)).collect(),
            books: books.cloned(),
        });
        let codes: Arc<[String]> = codes.into();
        let at_work = Arc::<AtomicUsize>::default();
        let reader = |(number, address): (usize, &Address)| {
            let mut links = links.clone();
            // Not all of them the same one at the same time.
            let first = number % links.len();
            links.rotate_left(first);
            let reader = Reader {
                client: Client::builder().timeout(PATIENCE).build().unwrap(),
                address: address.clone(),
                codes: Arc::clone(&codes),
                links,
                floor: Arc::clone(&floor),
                may_be_gone,
                at_work: Arc::clone(&at_work),
            };
            tokio::spawn(reader.read_until(Arc::clone(&stop)))
        };
        let addresses = addresses.iter().cycle().take(READERS).enumerate();
        let tasks = addresses.map(reader).collect();
        let deadline = Instant::now() + PATIENCE;
        while at_work.load(Ordering::SeqCst) < READERS {
            assert!(Instant::now() < deadline, "a reader gets no number");
            sleep(PAUSE).await;
        }
        Self { stop, tasks, links }
    }

    /// Fails if a number lacked some clicks, if anything but a number or a 503 was answered, or if what a
    /// reader is told last is not what is counted at the end, link by link.
    pub(crate) async fn end_with(self, counted: impl Future<Output = Vec<u64>>) {
        self.stop.store(true, Ordering::SeqCst);
        let mut told = Vec::new();
        for reader in self.tasks {
            told.push(reader.await.expect("a reader is content"));
        }
        let counted = counted.await;
        let counted: Vec<_> = self.links.iter().map(|link| counted[*link]).collect();
        for last in told {
            assert_eq!(last, counted, "what a reader was told last");
        }
    }
}

impl Reader {
    /// Returns the last numbers, from the oldest link to the newest.
    async fn read_until(mut self, stop: Arc<AtomicBool>) -> Vec<u64> {
        let mut is_at_work = false;
        while !stop.load(Ordering::SeqCst) {
            for link in &self.links {
                if self.read(*link).await.is_some() && !is_at_work {
                    is_at_work = true;
                    self.at_work.fetch_add(1, Ordering::SeqCst);
                }
                sleep(PAUSE).await;
            }
        }
        let deadline = Instant::now() + PATIENCE;
        let mut last = Vec::new();
        self.links.sort_unstable();
        for link in &self.links {
            last.push(loop {
                if let Some(clicks) = self.read(*link).await {
                    break clicks;
                }
                assert!(Instant::now() < deadline, "no number is to be had");
                sleep(PAUSE).await;
            });
        }
        last
    }

    /// The number, if one is told.
    async fn read(&self, link: usize) -> Option<u64> {
        let floor = self.floor.of(link);
        let url = format!(
            "http://{}/urls/{}/stats",
            self.address.now(),
            self.codes[link]
        );
        let told = match self.client.get(url).send().await {
            Ok(response) => told(response).await,
            Err(error) => Err(error),
        };
        let stats = match told {
            Ok(stats) => stats?,
            Err(error) if self.may_be_gone && !error.is_timeout() => return None,
            Err(error) => panic!("a reader got no answer: {error:?}"),
        };
        let clicks = stats["clicks"].as_u64().unwrap();
        assert!(floor <= clicks, "{clicks} told, {floor} known before");
        self.floor.told[link].fetch_max(clicks, Ordering::SeqCst);
        Some(clicks)
    }
}

impl Floor {
    fn of(&self, link: usize) -> u64 {
        let answered = self
            .books
            .as_ref()
            .map_or(0, |books| books.answered_to(link));
        answered.max(self.told[link].load(Ordering::SeqCst))
    }
}

/// Nothing where a count cannot be had just now; any other answer is wrong.
async fn told(response: Response) -> Result<Option<Value>, reqwest::Error> {
    if response.status() == 200 {
        return response.json().await.map(Some);
    }
    assert_eq!(response.status(), 503, "{response:?}");
    assert!(
        response.headers().contains_key("retry-after"),
        "{response:?}"
    );
    response.bytes().await.map(|_| None)
}
