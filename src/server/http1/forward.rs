//! Forwards a response that is still being made, for as long as its client is there.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::unfold;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::http::Admitted;
use crate::limits::Full;

/// Chunks of a response body that may wait for a slow client.
const CHUNKS_AHEAD: usize = 1;

/// How long room is waited for that a chunk needs, and how often it is asked for.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);
const ROOM_PAUSE: Duration = Duration::from_millis(50);

/// Forwards a body that is still being made on the main runtime, until its end or until the client is gone. The permit is kept for as
/// long.
pub(super) fn forward_body(
    response: Response,
    main: &Handle,
    permit: impl Send + 'static,
    admitted: Arc<Admitted>,
) -> Response {
    response.map(|body| {
        let (sender, receiver) = mpsc::channel::<Result<Bytes, axum::Error>>(CHUNKS_AHEAD);
        let producer = main.spawn(async move {
            let _permit = permit;
            let mut chunks = body.into_data_stream();
            while let Some(chunk) = chunks.next().await {
                let chunk = match chunk {
                    Ok(chunk) => tokio::select! {
                        kept = with_room(chunk, &admitted) => Ok(kept?),
                        () = sender.closed() => break,
                    },
                    Err(error) => Err(error),
                };
                if sender.send(chunk).await.is_err() {
                    // The client is gone.
                    break;
                }
            }
            Ok::<_, Full>(())
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
                    Ok(Err(full)) => axum::Error::new(full),
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

/// A chunk that takes room until it is written. It waits for that: what the client has of it may just be on its way. Only the last
/// try counts as a refusal.
async fn with_room(chunk: Bytes, admitted: &Admitted) -> Result<Bytes, Full> {
    let deadline = Instant::now() + ROOM_TIMEOUT;
    while Instant::now() < deadline {
        // A copy costs nothing: it is the same bytes.
        if let Some(kept) = admitted.try_keep(chunk.clone()) {
            return Ok(kept);
        }
        sleep(ROOM_PAUSE).await;
    }
    admitted.kept(chunk, false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{OwnedSemaphorePermit, Semaphore};

    use super::*;
    use crate::config::Guards;
    use crate::http::{Admission, TrustedProxies};

    fn permit() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn admitted() -> Arc<Admitted> {
        let guards = Guards::smallest();
        let admitted =
            Admission::new(&guards).admit(&mut hyper::Request::new(()), &TrustedProxies::default());
        admitted.unwrap()
    }

    fn response(
        chunks: impl futures_util::Stream<Item = Result<&'static str, axum::Error>> + Send + 'static,
    ) -> Response {
        Response::new(Body::from_stream(chunks))
    }

    #[tokio::test]
    async fn a_response_is_forwarded_whole() {
        let chunks = futures_util::stream::iter([Ok("[1,"), Ok("2]")]);
        let response = forward_body(response(chunks), &Handle::current(), permit(), admitted());
        let body = axum::body::to_bytes(response.into_body(), 100)
            .await
            .unwrap();
        assert_eq!(&*body, b"[1,2]");
    }

    #[tokio::test]
    async fn a_panic_in_the_middle_of_a_response_is_an_error_to_its_reader() {
        let chunks = unfold(0, async |number| {
            assert!(number < 2, "this panic is part of the test");
            Some((Ok("chunk"), number + 1))
        });
        let response = forward_body(response(chunks), &Handle::current(), permit(), admitted());
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }
}
