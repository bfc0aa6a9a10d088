//! Sends events to receivers by HTTP.
//!
//! The addresses of a name are looked up and checked, and connections are made to these, as a name may lead elsewhere every time. Redirects
//! are not followed, and of an answer only its status counts.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use moka::future::Cache;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{HookSecret, HookTargets, HookUrl, Timestamp};
use crate::http_client::async_tls;

/// How long a receiver may take, from the look-up of its name to the head of its answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long an address may take, so that another one of the name has its turn.
const CONNECT: Duration = Duration::from_secs(3);

/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 3;

/// Look-ups of names at once: each takes a thread for as long as the name's servers take.
const MAX_LOOKUPS: usize = 32;

/// How long the addresses of a name are used, and of how many names: one whose servers hang delays no receiver that is known.
const REMEMBERED: Duration = Duration::from_mins(1);
const MAX_REMEMBERED: u64 = 10_000;

/// How long a look-up may take.
const LOOKUP: Duration = Duration::from_secs(5);

/// How long a receiver waits for its turn to be looked up; then its round is later.
const TURN: Duration = Duration::from_secs(5);

/// Bytes that a connection keeps of an answer: receivers may send headers without end.
const MAX_BUFFER: usize = 16 << 10;

/// Letters of an error that are kept: a certificate may have a thousand names.
const MAX_ERROR: usize = 200;

/// Of an answer so many bytes are read, so that its connection can be used again.
const MAX_ANSWER: usize = 16 << 10;

/// Why a receiver did not take an event; its text is for the owner of the hook.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    #[error(transparent)]
    Unreached(Unreached),
    #[error("The receiver cannot be reached: {0}")]
    Unreachable(std::io::Error),
    #[error("TLS: {0}")]
    Tls(String),
    #[error("The receiver did not answer within {} seconds", DEADLINE.as_secs())]
    Late,
    #[error("The receiver did not answer: {0}")]
    NoAnswer(hyper::Error),
    #[error("The request is invalid")]
    Invalid,
}

/// Why no connection is made at all.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub(super) enum Unreached {
    #[error("The address must begin with https://")]
    NotHttps,
    #[error("The name of the receiver leads to no public address")]
    NotPublic,
    #[error("The name of the receiver was not found")]
    NoAddress,
}

impl SendError {
    /// Its text, of a bounded length.
    pub(super) fn text(&self) -> String {
        self.to_string().chars().take(MAX_ERROR).collect()
    }
}

/// Makes connections to receivers.
pub(super) struct Sender {
    targets: HookTargets,
    tls: OnceLock<Result<TlsConnector, String>>,
    lookups: Arc<Semaphore>,
    /// The addresses of a host and port to which events may be sent.
    remembered: Cache<(String, u16), Arc<[SocketAddr]>>,
}

/// A message for a receiver, signed.
pub(super) struct Message<'a> {
    /// Names the event.
    pub(super) id: &'a str,
    /// When it is sent.
    pub(super) at: Timestamp,
    /// The event.
    pub(super) body: &'a str,
}

/// A receiver, with connections that can be used again.
pub(super) struct Receiver<'a> {
    sender: &'a Sender,
    url: &'a HookUrl,
    secrets: &'a [HookSecret],
    addresses: Result<Arc<[SocketAddr]>, Unreached>,
    idle: Mutex<Vec<Connection>>,
}

/// A connection ends when this is dropped.
struct Connection {
    requests: SendRequest<String>,
    _driver: AbortOnDropHandle<()>,
}

impl Sender {
    pub(super) fn new(targets: HookTargets) -> Self {
        Self {
            targets,
            tls: OnceLock::new(),
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            remembered: Cache::builder()
                .max_capacity(MAX_REMEMBERED)
                .time_to_live(REMEMBERED)
                .build(),
        }
    }

    /// Looks a receiver up; `None` if too many others are being looked up.
    pub(super) async fn receiver<'a>(
        &'a self,
        url: &'a HookUrl,
        secrets: &'a [HookSecret],
    ) -> Option<Receiver<'a>> {
        let name = (url.host().to_owned(), url.port());
        // The setting may be another one than when the hook was made.
        let addresses = if self.targets == HookTargets::Public && !url.is_https() {
            Err(Unreached::NotHttps)
        } else if let Some(addresses) = self.remembered.get(&name).await {
            Ok(addresses)
        } else {
            let turn = timeout(TURN, Arc::clone(&self.lookups).acquire_owned()).await;
            let turn = turn.ok()?.ok()?;
            let found = self.addresses(url, turn).await.map(Arc::from);
            if let Ok(found) = &found {
                self.remembered.insert(name, Arc::clone(found)).await;
            }
            found
        };
        Some(Receiver {
            sender: self,
            url,
            secrets,
            addresses,
            idle: Mutex::default(),
        })
    }

    /// The addresses to which events may be sent.
    async fn addresses(
        &self,
        url: &HookUrl,
        turn: OwnedSemaphorePermit,
    ) -> Result<Vec<SocketAddr>, Unreached> {
        let (host, port) = (url.host().to_owned(), url.port());
        let looking = spawn_blocking(move || {
            // The turn ends with the thread, also if the look-up was given up before.
            let _turn = turn;
            let found = (host.as_str(), port).to_socket_addrs();
            found.map(Iterator::collect::<Vec<_>>)
        });
        let found = timeout(LOOKUP, looking).await;
        let Ok(Ok(Ok(mut found))) = found else {
            return Err(Unreached::NoAddress);
        };
        found.retain(|address| self.targets.allow(address.ip()));
        if found.is_empty() {
            return Err(Unreached::NotPublic);
        }
        Ok(found)
    }

    async fn connect(
        &self,
        url: &HookUrl,
        addresses: &[SocketAddr],
    ) -> Result<Connection, SendError> {
        let stream = match reach(addresses).await {
            Ok(stream) => stream,
            Err(error) => {
                // It may have others now.
                let name = (url.host().to_owned(), url.port());
                self.remembered.invalidate(&name).await;
                return Err(error);
            }
        };
        if !url.is_https() {
            return begin(stream).await;
        }
        let tls = self
            .tls
            .get_or_init(|| async_tls().map_err(|error| error.to_string()));
        let tls = tls.as_ref().map_err(|why| SendError::Tls(why.clone()))?;
        let name = ServerName::try_from(url.host().to_owned());
        let name = name.map_err(|error| SendError::Tls(error.to_string()))?;
        let stream = tls.connect(name, stream).await;
        begin(stream.map_err(|error| SendError::Tls(error.to_string()))?).await
    }
}

async fn reach(addresses: &[SocketAddr]) -> Result<TcpStream, SendError> {
    let mut last = SendError::Late;
    for address in addresses.iter().take(MAX_ADDRESSES) {
        match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Each request is written at once.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = SendError::Unreachable(error),
            Err(_) => last = SendError::Late,
        }
    }
    Err(last)
}

async fn begin<S>(stream: S) -> Result<Connection, SendError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut client = hyper::client::conn::http1::Builder::new();
    client.max_buf_size(MAX_BUFFER);
    let shaken = client.handshake(TokioIo::new(stream)).await;
    let (requests, connection) = shaken.map_err(SendError::NoAnswer)?;
    let driver = tokio::spawn(async move {
        // Its request says what went wrong.
        let _ = connection.await;
    });
    Ok(Connection {
        requests,
        _driver: AbortOnDropHandle::new(driver),
    })
}

impl Receiver<'_> {
    /// Sends a message; returns the status of the answer.
    pub(super) async fn send(&self, message: &Message<'_>) -> Result<u16, SendError> {
        let deadline = Instant::now() + DEADLINE;
        let sent = timeout_at(deadline, self.send_without_deadline(message)).await;
        let (connection, answer) = sent.unwrap_or(Err(SendError::Late))?;
        let status = answer.status().as_u16();
        if was_read(answer).await {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(connection);
        }
        Ok(status)
    }

    async fn send_without_deadline(
        &self,
        message: &Message<'_>,
    ) -> Result<(Connection, Response<Incoming>), SendError> {
        if let Some(connection) = self.take_idle()
            && let Ok(answered) = self.ask(connection, message).await
        {
            return Ok(answered);
        }
        // An idle connection may be closed at any time.
        let addresses = self.addresses.as_deref();
        let addresses = addresses.map_err(|why| SendError::Unreached(*why))?;
        let connection = self.sender.connect(self.url, addresses).await?;
        self.ask(connection, message).await
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|connection| !connection.requests.is_closed());
        idle.pop()
    }

    async fn ask(
        &self,
        mut connection: Connection,
        message: &Message<'_>,
    ) -> Result<(Connection, Response<Incoming>), SendError> {
        let request = self.request(message)?;
        connection
            .requests
            .ready()
            .await
            .map_err(SendError::NoAnswer)?;
        let answer = connection.requests.send_request(request).await;
        Ok((connection, answer.map_err(SendError::NoAnswer)?))
    }

    fn request(&self, message: &Message<'_>) -> Result<Request<String>, SendError> {
        let signatures = self
            .secrets
            .iter()
            .map(|secret| secret.sign(message.id, message.at, message.body));
        let signatures: Vec<_> = signatures.collect();
        let request = Request::post(self.url.path())
            .header(HOST, self.url.authority())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("shunt/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", message.id)
            .header("webhook-timestamp", message.at.unix_seconds())
            .header("webhook-signature", signatures.join(" "))
            .body(message.body.to_owned());
        request.map_err(|_| SendError::Invalid)
    }
}

/// Reads the rest of an answer. `false` if it is long, or does not end at once.
async fn was_read(answer: Response<Incoming>) -> bool {
    let mut body = answer.into_body();
    let rest = async {
        let mut read = 0;
        while read <= MAX_ANSWER {
            let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
            match frame.await {
                None => return true,
                Some(Ok(frame)) => read += frame.data_ref().map_or(0, bytes::Bytes::len),
                Some(Err(_)) => return false,
            }
        }
        false
    };
    timeout(Duration::from_secs(1), rest).await.unwrap_or(false)
}
