//! Readers of statistics under faults: each count includes every redirect that was answered before, no count
//! falls, and at the end all are exact.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::faults::load::{Address, Tally};

/// The number of readers at once.
const READERS: usize = 8;

/// The number of links that are read, half of them the oldest and half the newest, to keep a round short.
const LINKS: usize = 20;

/// Longer than any response may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The pause between two requests of a reader, which leaves a small machine time for redirects.
const PAUSE: Duration = Duration::from_millis(5);

/// Readers under way.
pub(crate) struct Readers {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<u64>>>,
    links: Vec<usize>,
}

/// The count below which no later one may fall, link by link.
struct LowerBound {
    /// The highest count that any reader got.
    highest: Vec<AtomicU64>,
    /// The tally of clients of the same instance. Other instances may not know of clicks that are only in its memory.
    tally: Option<Arc<Tally>>,
}

struct Reader {
    client: Client,
    address: Address,
    codes: Arc<[String]>,
    /// The indices of the links that are read.
    links: Vec<usize>,
    lower_bound: Arc<LowerBound>,
    /// Whether the instance may be down, so that a request gets no response.
    may_be_gone: bool,
    /// The number of readers that got a count.
    at_work: Arc<AtomicUsize>,
}

impl Readers {
    /// Reads from the instance under load, which never ends: every request gets a response.
    pub(crate) async fn start(address: &Address, tally: &Arc<Tally>) -> Self {
        Self::of(slice::from_ref(address), &tally.codes(), Some(tally), false).await
    }

    /// Reads from an instance that ends and is started again.
    pub(crate) async fn through_restarts(address: &Address, tally: &Arc<Tally>) -> Self {
        Self::of(slice::from_ref(address), &tally.codes(), Some(tally), true).await
    }

    /// Reads from several instances.
    pub(crate) async fn of_several(addresses: &[Address], codes: &[String]) -> Self {
        Self::of(addresses, codes, None, false).await
    }

    /// Returns once each reader got a count, so that a later fault meets readers under way.
    async fn of(
        addresses: &[Address],
        codes: &[String],
        tally: Option<&Arc<Tally>>,
        may_be_gone: bool,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let oldest_or_newest = |link: &usize| *link < LINKS / 2 || link + LINKS / 2 >= codes.len();
        let links: Vec<_> = (0..codes.len()).filter(oldest_or_newest).collect();
        let lower_bound = Arc::new(LowerBound {
            highest: codes.iter().map(|_| AtomicU64::new(0)).collect(),
            tally: tally.cloned(),
        });
        let codes: Arc<[String]> = codes.into();
        let at_work = Arc::<AtomicUsize>::default();
        let reader = |(number, address): (usize, &Address)| {
            let mut links = links.clone();
            // So that they do not all read the same link at the same time.
            let first = number % links.len();
            links.rotate_left(first);
            let reader = Reader {
                client: Client::builder().timeout(TIMEOUT).build().unwrap(),
                address: address.clone(),
                codes: Arc::clone(&codes),
                links,
                lower_bound: Arc::clone(&lower_bound),
                may_be_gone,
                at_work: Arc::clone(&at_work),
            };
            tokio::spawn(reader.read_until(Arc::clone(&stop)))
        };
        let addresses = addresses.iter().cycle().take(READERS).enumerate();
        let tasks = addresses.map(reader).collect();
        let deadline = Instant::now() + TIMEOUT;
        while at_work.load(Ordering::SeqCst) < READERS {
            assert!(Instant::now() < deadline, "a reader gets no count");
            sleep(PAUSE).await;
        }
        Self { stop, tasks, links }
    }

    /// Fails if a count lacked clicks, if a response was neither a count nor a 503, or if the last count of a reader
    /// differs from the final one, link by link.
    pub(crate) async fn end_with(self, counted: impl Future<Output = Vec<u64>>) {
        self.stop.store(true, Ordering::SeqCst);
        let mut last_counts = Vec::new();
        for reader in self.tasks {
            last_counts.push(reader.await.expect("no reader fails"));
        }
        let counted = counted.await;
        let counted: Vec<_> = self.links.iter().map(|link| counted[*link]).collect();
        for last in last_counts {
            assert_eq!(last, counted, "the last counts of a reader");
        }
    }
}

impl Reader {
    /// Returns the last counts, from the oldest link to the newest.
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
        let deadline = Instant::now() + TIMEOUT;
        let mut last = Vec::new();
        self.links.sort_unstable();
        for link in &self.links {
            last.push(loop {
                if let Some(clicks) = self.read(*link).await {
                    break clicks;
                }
                assert!(Instant::now() < deadline, "no count is available");
                sleep(PAUSE).await;
            });
        }
        last
    }

    /// The count, if the response has one.
    async fn read(&self, link: usize) -> Option<u64> {
        let lower_bound = self.lower_bound.of(link);
        let url = format!(
            "http://{}/urls/{}/stats",
            self.address.current(),
            self.codes[link]
        );
        let stats = match self.client.get(url).send().await {
            Ok(response) => stats_of(response).await,
            Err(error) => Err(error),
        };
        let stats = match stats {
            Ok(stats) => stats?,
            Err(error) if self.may_be_gone && !error.is_timeout() => return None,
            Err(error) => panic!("a reader got no response: {error:?}"),
        };
        let clicks = stats["clicks"].as_u64().unwrap();
        assert!(
            lower_bound <= clicks,
            "{clicks} highest, {lower_bound} known before"
        );
        self.lower_bound.highest[link].fetch_max(clicks, Ordering::SeqCst);
        Some(clicks)
    }
}

impl LowerBound {
    fn of(&self, link: usize) -> u64 {
        let answered = self
            .tally
            .as_ref()
            .map_or(0, |tally| tally.answered_to(link));
        answered.max(self.highest[link].load(Ordering::SeqCst))
    }
}

/// The statistics, or `None` for a 503; any other response fails the test.
async fn stats_of(response: Response) -> Result<Option<Value>, reqwest::Error> {
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
