//! The express lane: plain redirects are read off the socket and answered on the spot.
//!
//! A general HTTP stack spends more on a request than the redirect itself does. So a connection begins
//! here, where only one shape of request is known: `GET` or `HEAD` of a code, HTTP/1.1, without a body,
//! on a connection that stays open. Whatever else comes, however slightly different, is handed to hyper
//! together with everything read so far (its address as a browser would have sent it, see `target`); the
//! connection stays there. Nothing here decides about anything that hyper or the router would decide
//! differently.

use std::future::poll_fn;
use std::io::{self, Cursor};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::body::to_bytes;
use axum::response::{IntoResponse, Response};
use bytes::{Buf, Bytes, BytesMut};
use httpdate::HttpDate;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, join};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use super::idle_timer::IdleTimer;
use super::request_target;
use crate::domain::{Clock, ShortCode};
use crate::http::paths::redirect_code;
use crate::http::{ApiError, RequestId, RequestIds};
use crate::redirect::{Redirect, RedirectError};
use crate::server::lifecycle::Shutdown;
use crate::telemetry::requests::RequestSpan;

/// Longest head that is read here.
const HEAD_BYTES: usize = 4 * 1024;

/// Most headers of a request that is answered here; browsers send about 15.
const MOST_HEADERS: usize = 32;

/// Requests of one connection that are answered before other connections are looked at.
const AHEAD: u32 = 16;

/// How long a client may take to read an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers plain redirects; one per worker.
pub(in crate::server) struct FastPath {
    redirect: Redirect,
    /// Head, without its end, and body of the answer to an unknown code: as the router gives it.
    not_found: (Vec<u8>, Bytes),
    /// The same where the code cannot be looked up.
    not_now: (Vec<u8>, Bytes),
    date: Mutex<DateLine>,
    ids: Arc<RequestIds>,
    clock: Arc<dyn Clock>,
    /// A connection that completes no request for this long, later on up to twice as long, is closed.
    patience: Duration,
}

/// How a connection left the express lane.
pub(in crate::server) enum Left<S> {
    /// It is closed, or has to be.
    Closed,
    /// hyper takes over: what was read and not answered comes first.
    HandedOver(S),
}

/// What the head of a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Head<'a> {
    /// Not all of it is there yet.
    Partial,
    /// A plain redirect.
    Plain(Plain<'a>),
    /// Anything else.
    Other,
}

/// A redirect that is answered here.
#[derive(Debug, PartialEq, Eq)]
struct Plain<'a> {
    path: &'a str,
    code: ShortCode,
    is_head: bool,
    /// The one that the request brought.
    id: Option<RequestId>,
    /// Bytes of its head.
    length: usize,
}

impl FastPath {
    pub(in crate::server) async fn new(
        redirect: Redirect,
        ids: Arc<RequestIds>,
        clock: Arc<dyn Clock>,
        patience: Duration,
    ) -> Self {
        Self {
            redirect,
            not_found: rendered(ApiError::url_not_found().into_response()).await,
            not_now: rendered(ApiError::not_now().into_response()).await,
            date: Mutex::default(),
            ids,
            clock,
            patience,
        }
    }

    /// Answers requests for as long as they are plain.
    pub(in crate::server) async fn serve(
        &self,
        mut stream: TcpStream,
        stop: &Shutdown,
    ) -> Left<impl AsyncRead + AsyncWrite + Unpin + use<>> {
        let mut received = BytesMut::new();
        let mut answer = Vec::new();
        let mut ahead = 0;
        let (asked, clock) = (stop.asked(), sleep(self.patience));
        tokio::pin!(asked, clock);
        let mut patience = IdleTimer::new(asked, clock, self.patience);
        loop {
            match parse(&received) {
                Head::Plain(plain) => {
                    answer.clear();
                    let length = plain.length;
                    let closing = self.answer(plain, stop, &mut answer).await;
                    if write(&mut stream, &answer).await.is_err() || closing {
                        return Left::Closed;
                    }
                    patience.answered();
                    received.advance(length);
                    // Who sends thousands ahead and waits for nothing does not keep the worker from others.
                    ahead += 1;
                    if ahead == AHEAD {
                        ahead = 0;
                        yield_now().await;
                    }
                }
                Head::Other => break,
                Head::Partial => {
                    ahead = 0;
                    let is_idle = received.is_empty();
                    tokio::select! {
                        biased;
                        read = read(&mut stream, &mut received) => match read {
                            Ok(0) | Err(_) => return Left::Closed,
                            Ok(_) => {}
                        },
                        () = patience.ends(is_idle) => return Left::Closed,
                    }
                }
            }
        }
        let (reader, writer) = stream.into_split();
        Left::HandedOver(join(
            AsyncReadExt::chain(
                Cursor::new(request_target::encoded(&received).into_owned()),
                reader,
            ),
            writer,
        ))
    }

    /// Writes the answer to a plain redirect; whether it says that the connection closes.
    async fn answer(&self, request: Plain<'_>, stop: &Shutdown, answer: &mut Vec<u8>) -> bool {
        let id = request.id.unwrap_or_else(|| self.ids.make());
        let method = if request.is_head { "HEAD" } else { "GET" };
        let observed = RequestSpan::at_debug(id.as_str(), method, request.path);
        let followed = if request.is_head {
            self.redirect.preview(&request.code).await
        } else {
            self.redirect.follow(&request.code).await
        };
        // Only now: it may have been asked for while the click was waited for.
        let closing = stop.is_asked();
        let status = match followed {
            Ok(found) => {
                answer.extend_from_slice(b"HTTP/1.1 302 Found\r\nlocation: ");
                answer.extend_from_slice(found.location().as_str().as_bytes());
                answer.extend_from_slice(
                    b"\r\ncache-control: private, no-store\r\ncontent-length: 0\r\n",
                );
                self.end_head(found.at(), &id, closing, answer);
                302
            }
            Err(error) => {
                let (status, (head, body)) = match error {
                    RedirectError::Unknown | RedirectError::Inactive => (404, &self.not_found),
                    RedirectError::Unavailable(_) => (503, &self.not_now),
                };
                answer.extend_from_slice(head);
                self.end_head(Instant::now().into_std(), &id, closing, answer);
                if !request.is_head {
                    answer.extend_from_slice(body);
                }
                status
            }
        };
        if let Some(observed) = observed {
            observed.answered(status);
        }
        closing
    }

    fn end_head(
        &self,
        now: std::time::Instant,
        id: &RequestId,
        closing: bool,
        answer: &mut Vec<u8>,
    ) {
        if closing {
            answer.extend_from_slice(b"connection: close\r\n");
        }
        answer.extend_from_slice(b"x-request-id: ");
        answer.extend_from_slice(id.as_str().as_bytes());
        answer.extend_from_slice(b"\r\n");
        let mut date = self.date.lock().unwrap_or_else(PoisonError::into_inner);
        answer.extend_from_slice(date.at(now, &*self.clock));
        answer.extend_from_slice(b"\r\n");
    }
}

/// Reads what has come. A connection takes memory for it only then, so that an idle one holds none.
async fn read(stream: &mut TcpStream, received: &mut BytesMut) -> io::Result<usize> {
    if received.is_empty() {
        *received = BytesMut::new();
    }
    poll_fn(|context| stream.poll_read_ready(context)).await?;
    received.reserve(HEAD_BYTES - received.len());
    stream.read_buf(received).await
}

/// Writes an answer: nearly always at once, and otherwise not for ever.
async fn write(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    let written = match stream.try_write(answer) {
        Ok(written) if written == answer.len() => return Ok(()),
        Ok(written) => written,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        Err(error) => return Err(error),
    };
    timeout(WRITE_TIMEOUT, stream.write_all(&answer[written..])).await?
}

/// Reads a head that may not be whole yet.
fn parse(received: &[u8]) -> Head<'_> {
    if received.is_empty() {
        return Head::Partial;
    }
    let mut headers = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(received, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if received.len() < HEAD_BYTES => return Head::Partial,
        Ok(httparse::Status::Partial) | Err(_) => return Head::Other,
    };
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Head::Other,
    };
    let Some((path, code)) = request
        .path
        .and_then(|path| Some((path, redirect_code(path)?)))
    else {
        return Head::Other;
    };
    if request.version != Some(1) || !request.headers.iter().all(is_plain) {
        return Head::Other;
    }
    let named = |name: &'static str| {
        let headers = request.headers.iter();
        headers.filter(move |header| header.name.eq_ignore_ascii_case(name))
    };
    if named("host").count() != 1 {
        return Head::Other;
    }
    let id = named("x-request-id")
        .next()
        .and_then(|header| RequestId::parse(header.value));
    Head::Plain(Plain {
        path,
        code,
        is_head,
        id,
        length,
    })
}

/// Whether a header leaves a redirect plain: nothing about bodies, nothing about this connection.
fn is_plain(header: &httparse::Header<'_>) -> bool {
    const TELLING: [&str; 6] = [
        "connection",
        "content-length",
        "expect",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    match TELLING
        .iter()
        .find(|name| header.name.eq_ignore_ascii_case(name))
    {
        Some(&"connection") => header.value.eq_ignore_ascii_case(b"keep-alive"),
        Some(_) => false,
        None => true,
    }
}

/// An answer as it is sent: its head without `Date` and end, and its body.
async fn rendered(response: Response) -> (Vec<u8>, Bytes) {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX)
        .await
        .expect("the body of an error is in memory");
    let mut head = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
    (head, body)
}

/// The `Date` header, made once a second.
#[derive(Default)]
struct DateLine {
    until: Option<std::time::Instant>,
    line: Vec<u8>,
}

impl DateLine {
    fn at(&mut self, now: std::time::Instant, clock: &dyn Clock) -> &[u8] {
        if self.until.is_none_or(|until| now >= until) {
            let date = clock.now();
            let rest_of_second = 1_000_000_000 - date.subsec_nanos();
            self.until = Some(now + Duration::from_nanos(u64::from(rest_of_second)));
            self.line =
                format!("date: {}\r\n", HttpDate::from(SystemTime::from(date))).into_bytes();
        }
        &self.line
    }
}

#[cfg(test)]
mod tests;
