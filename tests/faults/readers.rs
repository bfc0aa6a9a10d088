//! Readers of statistics: whatever happens, no number falls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Readers at work.
pub(crate) struct Readers {
    stop: Arc<AtomicBool>,
    readers: Vec<JoinHandle<u64>>,
}

impl Readers {
    /// Some on each of the instances.
    pub(crate) fn start(bases: &[&str], codes: &[String]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let reader = |base: &&str| {
            let (base, codes, stop) = ((*base).to_owned(), codes.to_vec(), Arc::clone(&stop));
            tokio::spawn(async move { read(&base, &codes, &stop).await })
        };
        Self {
            readers: bases
                .iter()
                .flat_map(|base| [reader(base), reader(base)])
                .collect(),
            stop,
        }
    }

    /// Fails if a number fell, or if nobody ever read one.
    pub(crate) async fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        let mut read = 0;
        for reader in self.readers {
            read += reader.await.unwrap();
        }
        assert!(read > 0, "no reader got a number");
    }
}

async fn read(base: &str, codes: &[String], stop: &AtomicBool) -> u64 {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap();
    let mut last = vec![0; codes.len()];
    let mut read = 0;
    while !stop.load(Ordering::SeqCst) {
        for (code, last) in codes.iter().zip(&mut last) {
            let answer = client.get(format!("{base}/urls/{code}/stats")).send().await;
            // Where a count cannot be had, none is told.
            let Some(answer) = answer.ok().filter(|answer| answer.status() == 200) else {
                sleep(Duration::from_millis(20)).await;
                continue;
            };
            let Ok(stats) = answer.json::<Value>().await else {
                continue;
            };
            let clicks = stats["clicks"].as_u64().unwrap();
            assert!(*last <= clicks, "a count fell from {last} to {clicks}");
            *last = clicks;
            read += 1;
        }
    }
    read
}
