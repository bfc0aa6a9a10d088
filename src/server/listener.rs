//! Listening: hands connections to the workers.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tokio::sync::mpsc::Sender;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::lifecycle::{LAST_CALL, ServeError, Shutdown};
use crate::http::{RequestId, RequestIds, security_header_lines};
use crate::telemetry::metrics::LIMIT_HITS;

/// Connections that the system takes before they are let in, as far as it allows.
const BACKLOG: i32 = 4_096;

/// Pause after the system had no file handle left for a connection.
const BREATH: Duration = Duration::from_millis(50);

/// How long an answer may lie unread before the system closes its connection.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// An address that is taken and not listened on yet: nobody is let in before there is who answers.
pub(super) struct BoundSocket {
    setting: &'static str,
    address: SocketAddr,
    socket: Socket,
}

impl BoundSocket {
    /// Takes the address of a setting. Where somebody listens there already, this fails.
    pub(super) fn take(setting: &'static str, address: SocketAddr) -> Result<Self, ServeError> {
        // As the standard library does it.
        let bound =
            Socket::new(Domain::for_address(address), Type::STREAM, None).and_then(|socket| {
                socket.set_reuse_address(true)?;
                socket.bind(&address.into())?;
                Ok(socket)
            });
        let socket = bound.map_err(|error| fault(setting, address, error))?;
        Ok(Self {
            setting,
            address,
            socket,
        })
    }

    /// Listens.
    pub(super) fn listen(self) -> Result<TcpListener, ServeError> {
        // The queue of the standard library is 128 connections long, which a burst fills.
        match self.socket.listen(BACKLOG) {
            Ok(()) => Ok(self.socket.into()),
            Err(error) => Err(fault(self.setting, self.address, error)),
        }
    }
}

fn fault(setting: &'static str, address: SocketAddr, error: io::Error) -> ServeError {
    ServeError::Bind {
        setting,
        address,
        mend: match error.kind() {
            io::ErrorKind::AddrInUse => "stop what listens there, or give another port",
            io::ErrorKind::AddrNotAvailable => "give an address of this machine",
            io::ErrorKind::PermissionDenied => {
                "give a port above 1023, or the right to use this one"
            }
            _ => "give another address",
        },
        error,
    }
}

/// A connection on its way to a worker, with the place that it takes up until it is closed.
pub(super) struct Arrival {
    pub(super) stream: TcpStream,
    pub(super) place: OwnedSemaphorePermit,
}

/// Hands connections to the workers in turn, until asked to stop; then asks everybody else.
pub(super) async fn accept(
    listener: TcpListener,
    workers: Vec<Sender<Arrival>>,
    most_connections: usize,
    ids: RequestIds,
    stop: Shutdown,
) {
    match asynchronous(listener) {
        Ok(listener) => {
            let late = async {
                stop.door_closes().await;
                sleep(LAST_CALL).await;
            };
            tokio::select! {
                () = let_in(listener, workers, most_connections, &ids, &stop) => {}
                () = late => {}
            }
        }
        Err(error) => {
            tracing::error!(%error, "the listener cannot be used");
            return;
        }
    }
    stop.everybody();
}

/// Until the door closes and nobody stands before it.
async fn let_in(
    listener: tokio::net::TcpListener,
    workers: Vec<Sender<Arrival>>,
    most_connections: usize,
    ids: &RequestIds,
    stop: &Shutdown,
) {
    let places = Arc::new(Semaphore::new(most_connections));
    let full = metrics::counter!(LIMIT_HITS, "limit" => "connections");
    let mut turn = 0;
    loop {
        let accepted = tokio::select! {
            biased;
            // First: whoever is connected already is let in.
            accepted = listener.accept() => accepted,
            () = stop.door_closes() => return,
        };
        let stream = accepted.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
            #[cfg(target_os = "linux")]
            socket2::SockRef::from(&stream).set_tcp_user_timeout(Some(UNREAD_TIMEOUT))?;
            stream.into_std()
        });
        match stream {
            Ok(stream) => {
                let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                    full.increment(1);
                    turn_away(&stream, &ids.make());
                    continue;
                };
                // A worker that is gone stops the service; until then others take its turn.
                let _ = workers[turn % workers.len()]
                    .send(Arrival { stream, place })
                    .await;
                turn += 1;
            }
            // The visitor was gone before being greeted.
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                sleep(BREATH).await;
            }
        }
    }
}

/// Answers before anything is read: whoever is one too many learns so at once. The socket does not
/// block; a client that takes not even these bytes gets none.
fn turn_away(mut stream: &TcpStream, id: &RequestId) {
    const BODY: &str = r#"{"detail":"The service is busy; try again"}"#;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: {}\r\nx-request-id: {}\r\n{}\r\n{BODY}",
        BODY.len(),
        id.as_str(),
        security_header_lines(),
    );
    let _ = stream.write_all(answer.as_bytes());
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

/// The same listener for the runtime of whoever calls.
pub(super) fn asynchronous(listener: TcpListener) -> io::Result<tokio::net::TcpListener> {
    listener.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(listener)
}
