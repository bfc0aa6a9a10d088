//! Accepts connections and hands them to the workers.

use std::io::{self, Write};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::Sender;
use tokio::time::sleep;

use crate::http::{RequestId, RequestIds};
use crate::server::connections::{Connections, OneTooMany};
use crate::server::http1::render::refused_connection;
use crate::server::shutdown::{GRACE_PERIOD, Shutdown};
use crate::server::workers::AcceptedConnection;
use crate::telemetry::metrics::LIMIT_HITS;

/// Pause after the system had no file handle left for a connection.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// How long a response may stay unread before the system closes its connection.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Hands connections to the workers in turn, until a shutdown is requested; then every other part begins to drain.
pub(super) async fn accept(
    listener: TcpListener,
    workers: Vec<Sender<AcceptedConnection>>,
    connections: Connections,
    ids: RequestIds,
    shutdown: Shutdown,
) {
    let end_of_grace_period = async {
        shutdown.requested().await;
        sleep(GRACE_PERIOD).await;
    };
    tokio::select! {
        () = accept_until_requested(listener, workers, &connections, &ids, &shutdown) => {}
        () = end_of_grace_period => {}
    }
    shutdown.drain();
}

/// Returns when a shutdown is requested and no connection waits in the backlog.
async fn accept_until_requested(
    listener: TcpListener,
    workers: Vec<Sender<AcceptedConnection>>,
    connections: &Connections,
    ids: &RequestIds,
    shutdown: &Shutdown,
) {
    let mut next = 0;
    loop {
        let accepted = tokio::select! {
            biased;
            // First: clients in the backlog are connected already, and are served.
            accepted = listener.accept() => accepted,
            () = shutdown.requested() => return,
        };
        let stream = accepted.and_then(|(stream, peer)| {
            stream.set_nodelay(true)?;
            #[cfg(target_os = "linux")]
            socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(UNREAD_TIMEOUT))?;
            Ok((stream.into_std()?, peer.ip()))
        });
        match stream {
            Ok((stream, peer)) => {
                let open = match connections.open(peer) {
                    Ok(open) => open,
                    Err(one_too_many) => {
                        metrics::counter!(LIMIT_HITS, "limit" => one_too_many.limit()).increment(1);
                        refuse(&stream, one_too_many, &ids.make());
                        continue;
                    }
                };
                // A worker that is gone stops the service; until then the other workers get their connections.
                let _ = workers[next % workers.len()]
                    .send(AcceptedConnection { stream, open })
                    .await;
                next += 1;
            }
            // The client was gone before its connection was accepted.
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(RETRY_PAUSE).await;
            }
        }
    }
}

/// Responds before anything is read, so that the client learns at once that there are too many connections. The socket does not
/// block: a client that does not even read these bytes gets no response.
fn refuse(mut stream: &std::net::TcpStream, one_too_many: OneTooMany, id: &RequestId) {
    let response = match one_too_many {
        OneTooMany::InAll => refused_connection(
            "503 Service Unavailable",
            "The service is busy; try again",
            id,
        ),
        OneTooMany::OfAddress => refused_connection(
            "429 Too Many Requests",
            "Too many connections from your address; close some and try again",
            id,
        ),
    };
    let _ = stream.write_all(&response);
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{
        ConnectionAborted, ConnectionRefused, ConnectionReset, InvalidInput, NotConnected,
    };
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset | NotConnected | InvalidInput
    )
}
