//! A connection whose client must read what it requested: a client that reads too slowly is cut off, whatever the response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::AsyncWrite;
use tokio::time::{Instant, Sleep, sleep};

use crate::server::bound_socket::UNSENT;
use crate::telemetry::metrics::LIMIT_HITS;

/// How long a client that reads at the least rate may pause.
const PAUSE: Duration = Duration::from_secs(10);

/// How long a client may pause if no rate is required.
const PAUSE_WITHOUT_RATE: Duration = Duration::from_secs(30);

/// How long the service still waits for a client: each byte that it reads earns it time.
pub(super) struct ReadBudget {
    /// Bytes per second.
    rate: u32,
    left: Duration,
}

impl ReadBudget {
    /// Of a client that must read `rate` bytes per second; 0: only something now and then.
    pub(super) fn new(rate: u32) -> Self {
        let left = if rate == 0 { PAUSE_WITHOUT_RATE } else { PAUSE };
        Self { rate, left }
    }

    /// How long the client may take for so many bytes.
    fn most(&self, bytes: usize) -> Duration {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let earned = Duration::from_secs(bytes.into()).checked_div(self.rate);
        self.left + earned.unwrap_or_default()
    }

    /// Notes how long the client took of that.
    fn spend(&mut self, most: Duration, taken: Duration) {
        if self.rate > 0 {
            self.left = most.saturating_sub(taken).min(PAUSE);
        }
    }
}

/// Writes to a client for as long as it reads fast enough.
pub(super) struct Paced<S> {
    stream: S,
    budget: ReadBudget,
    /// Since the client does not take what is to be written.
    blocked: Option<Blocked>,
}

struct Blocked {
    since: Instant,
    most: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, budget: ReadBudget) -> Self {
        Self {
            stream,
            budget,
            blocked: None,
        }
    }

    /// The outcome of a write; an error if it is pending for too long.
    fn or_slow<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_pending() {
            let blocked = self.blocked.get_or_insert_with(|| {
                // The system takes more once the client has read so much.
                let most = self.budget.most(UNSENT);
                Blocked {
                    since: Instant::now(),
                    most,
                    timer: Box::pin(sleep(most)),
                }
            });
            ready!(blocked.timer.as_mut().poll(context));
            metrics::counter!(LIMIT_HITS, "limit" => "read_rate").increment(1);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if let Some(blocked) = self.blocked.take() {
            self.budget.spend(blocked.most, blocked.since.elapsed());
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.or_slow(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.or_slow(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_cut_off_and_one_that_reads_is_not() {
        for (rate, is_read) in [(4_096, false), (0, false), (4_096, true), (0, true)] {
            let (ours, mut theirs) = duplex(1_024);
            let mut paced = Paced::new(ours, ReadBudget::new(rate));
            let reading = async {
                let mut buffer = [0; 8_192];
                while is_read && theirs.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                    sleep(Duration::from_millis(100)).await;
                }
            };
            let writing = async {
                let outcome = paced.write_all(&vec![0; 1_000_000]).await;
                drop(paced);
                outcome
            };
            let (written, ()) = tokio::join!(writing, reading);
            assert_eq!(written.is_ok(), is_read, "{rate}");
        }
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
            let (mut budget, mut given_up) = (ReadBudget::new(rate), false);
            for _ in 0..100 {
                let (most, taken) = (budget.most(5), Duration::from_millis(pause));
                given_up |= taken > most;
                budget.spend(most, taken);
            }
            assert_eq!(given_up, is_given_up, "{rate} {pause}");
        }
    }
}
