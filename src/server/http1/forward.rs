//! Forwards a response that is still being made, for as long as its client reads it fast enough.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::telemetry::metrics::LIMIT_HITS;

/// Chunks of a response body that may wait for a slow client.
const CHUNKS_AHEAD: usize = 1;

/// How long a client that reads at the least rate may pause.
const PAUSE: Duration = Duration::from_secs(10);

/// How long a client may pause where no rate is asked for.
const PAUSE_WITHOUT_RATE: Duration = Duration::from_secs(30);

/// How long the service still waits for a client: each byte that it reads earns it time.
pub(super) struct Patience {
    /// Bytes per second.
    rate: u32,
    left: Duration,
}

impl Patience {
    /// Of a client that has to read `rate` bytes per second; 0: only something now and then.
    pub(super) fn new(rate: u32) -> Self {
        let left = if rate == 0 { PAUSE_WITHOUT_RATE } else { PAUSE };
        Self { rate, left }
    }

    /// Waits until the client has taken `bytes`; `None` where that takes too long.
    async fn wait<T>(&mut self, bytes: usize, taken: impl Future<Output = T>) -> Option<T> {
        let (started, most) = (Instant::now(), self.most(bytes));
        let taken = timeout(most, taken).await.ok()?;
        self.spend(most, started.elapsed());
        Some(taken)
    }

    /// How long the client may take for so many bytes.
    fn most(&self, bytes: usize) -> Duration {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let earned = Duration::from_secs(bytes.into()).checked_div(self.rate);
        self.left + earned.unwrap_or_default()
    }

    fn spend(&mut self, most: Duration, taken: Duration) {
        if self.rate > 0 {
            self.left = most.saturating_sub(taken).min(PAUSE);
        }
    }
}

/// Forwards a body that is still being made on the main runtime, until its end or until the client stops reading. The permit is
/// kept for as long.
pub(super) fn forward_body(
    response: Response,
    main: &Handle,
    permit: impl Send + 'static,
    mut patience: Patience,
) -> Response {
    response.map(|body| {
        let (sender, receiver) = mpsc::channel::<Result<Bytes, axum::Error>>(CHUNKS_AHEAD);
        let producer = main.spawn(async move {
            let _permit = permit;
            let mut chunks = body.into_data_stream();
            while let Some(chunk) = chunks.next().await {
                let length = chunk.as_ref().map_or(0, Bytes::len);
                match patience.wait(length, sender.send(chunk)).await {
                    Some(Ok(())) => {}
                    // The client is gone.
                    Some(Err(_)) => break,
                    None => {
                        metrics::counter!(LIMIT_HITS, "limit" => "read_rate").increment(1);
                        return Err("the client reads too slowly");
                    }
                }
            }
            Ok(())
        });
        Body::from_stream(unfold(
            (receiver, Some(producer)),
            async |(mut receiver, producer)| {
                if let Some(chunk) = receiver.recv().await {
                    return Some((chunk, (receiver, producer)));
                }
                // A part of a response must not look like a whole one.
                let failed = match producer?.await {
                    Ok(Ok(())) => return None,
                    Ok(Err(slow)) => axum::Error::new(slow),
                    Err(failed) => {
                        tracing::error!(%failed, "a response could not be finished");
                        axum::Error::new(failed)
                    }
                };
                Some((Err(failed), (receiver, None)))
            },
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{OwnedSemaphorePermit, Semaphore};
    use tokio::time::sleep;

    use super::*;

    fn permit() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn response(
        chunks: impl futures_util::Stream<Item = Result<&'static str, axum::Error>> + Send + 'static,
    ) -> Response {
        Response::new(Body::from_stream(chunks))
    }

    #[tokio::test]
    async fn a_response_is_forwarded_whole() {
        let chunks = futures_util::stream::iter([Ok("[1,"), Ok("2]")]);
        let response = forward_body(
            response(chunks),
            &Handle::current(),
            permit(),
            Patience::new(0),
        );
        let body = axum::body::to_bytes(response.into_body(), 100)
            .await
            .unwrap();
        assert_eq!(&*body, b"[1,2]");
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_given_up() {
        let chunks = futures_util::stream::iter((0..10).map(|_| Ok("chunk")));
        let patience = Patience {
            rate: 0,
            left: Duration::from_millis(10),
        };
        let response = forward_body(response(chunks), &Handle::current(), permit(), patience);
        sleep(Duration::from_millis(500)).await;
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }

    #[test]
    fn a_client_that_reads_more_slowly_than_it_has_to_is_given_up() {
        // A chunk of 5 bytes at each pause.
        for (rate, pause, is_given_up) in [
            (6, 1_000, true),
            (6, 500, false),
            (0, 20_000, false),
            (0, 31_000, true),
        ] {
            let (mut patience, mut given_up) = (Patience::new(rate), false);
            for _ in 0..100 {
                let (most, taken) = (patience.most(5), Duration::from_millis(pause));
                given_up |= taken > most;
                patience.spend(most, taken);
            }
            assert_eq!(given_up, is_given_up, "{rate} {pause}");
        }
    }

    #[tokio::test]
    async fn a_panic_in_the_middle_of_a_response_is_an_error_to_its_reader() {
        let chunks = unfold(0, async |number| {
            assert!(number < 2, "this panic is part of the test");
            Some((Ok("chunk"), number + 1))
        });
        let response = forward_body(
            response(chunks),
            &Handle::current(),
            permit(),
            Patience::new(0),
        );
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }
}
