//! One keep-alive connection, and as much HTTP as it takes to find the end of a response.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// The longest head of a response that is read.
const HEAD_LIMIT: usize = 16 * 1024;

/// The end of a chunked body. JSON has no raw line breaks, so this cannot occur within one.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// A connection with at most one request under way.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The moment at which the request under way was due.
    pub(crate) due: Option<Instant>,
    head: Vec<u8>,
    body: Option<(u16, Body)>,
}

/// The rest of a body.
enum Body {
    Bytes(usize),
    /// Until the last chunk; the newest bytes seen.
    Chunks(Vec<u8>),
}

impl Connection {
    /// Connects; later reads and writes never block.
    pub(crate) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            due: None,
            head: Vec::new(),
            body: None,
        })
    }

    /// The socket, to be waited on.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Sends a request that was due at `due`. Requests are small and the socket is idle, so one
    /// that does not go out in one piece is an error.
    pub(crate) fn send(&mut self, request: &[u8], due: Instant) -> Result<()> {
        self.due = Some(due);
        let sent = self.stream.write(request)?;
        if sent == request.len() {
            Ok(())
        } else {
            Err(ErrorKind::WriteZero.into())
        }
    }

    /// Reads the available bytes; the status once the response is complete.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<u16>> {
        loop {
            let read = match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            if let Some(status) = self.take(&buffer[..read])? {
                return Ok(Some(status));
            }
            if read < buffer.len() {
                return Ok(None);
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Option<u16>> {
        let (status, ended) = if let Some((status, body)) = &mut self.body {
            (*status, body.take(bytes))
        } else {
            self.head.extend_from_slice(bytes);
            let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
                let fits = self.head.len() <= HEAD_LIMIT;
                return if fits {
                    Ok(None)
                } else {
                    Err(ErrorKind::InvalidData.into())
                };
            };
            let (status, mut body) = parse(&self.head[..end])?;
            let ended = body.take(&self.head[end + 4..]);
            self.head.clear();
            self.body = Some((status, body));
            (status, ended)
        };
        if ended {
            self.body = None;
        }
        Ok(ended.then_some(status))
    }
}

impl Body {
    /// Reads the next bytes; whether the body has ended.
    fn take(&mut self, bytes: &[u8]) -> bool {
        match self {
            Self::Bytes(left) => {
                *left = left.saturating_sub(bytes.len());
                *left == 0
            }
            Self::Chunks(tail) => {
                tail.extend_from_slice(bytes);
                tail.drain(..tail.len().saturating_sub(LAST_CHUNK.len()));
                tail == LAST_CHUNK
            }
        }
    }
}

/// The status and the kind of body, from the head of a response.
fn parse(head: &[u8]) -> Result<(u16, Body)> {
    let invalid = |_| Error::from(ErrorKind::InvalidData);
    let head = str::from_utf8(head).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    let status = head
        .get(9..12)
        .unwrap_or_default()
        .parse()
        .map_err(invalid)?;
    let mut body = Body::Bytes(0);
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            body = Body::Bytes(value.trim().parse().map_err(invalid)?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            body = Body::Chunks(Vec::new());
        }
    }
    Ok((status, body))
}
