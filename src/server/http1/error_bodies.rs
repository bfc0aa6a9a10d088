//! Sentences for what hyper refuses by itself: a request that it cannot read is answered with a status alone.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::{RequestIds, security_header_lines};

/// What hyper's own answers say of their body, as no other error here does.
const NO_BODY: &[u8] = b"\r\ncontent-length: 0\r\n";

/// A connection on which errors without a body get one.
pub(in crate::server) struct WithErrorBodies<S> {
    stream: S,
    ids: Arc<RequestIds>,
    /// Of an answer that got a body: what is still to be written.
    rest: Vec<u8>,
    /// The length of that answer as it was given.
    given: usize,
}

impl<S> WithErrorBodies<S> {
    pub(in crate::server) fn new(stream: S, ids: Arc<RequestIds>) -> Self {
        Self {
            stream,
            ids,
            rest: Vec::new(),
            given: 0,
        }
    }

    /// The answer with a body, if it is an error without.
    fn explained(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let status = answer.strip_prefix(b"HTTP/1.")?.get(2..5)?;
        if status[0] != b'4' || !answer.ends_with(b"\r\n\r\n") {
            return None;
        }
        let place = answer
            .windows(NO_BODY.len())
            .position(|window| window == NO_BODY)?;
        let sentence = match status {
            b"414" => "The address of the request is too long",
            b"431" => "The head of the request is too large",
            _ => "The request cannot be understood",
        };
        let body = format!("{{\"detail\":\"{sentence}\"}}");
        let fields = format!(
            "\r\ncontent-type: application/json\r\n{}x-request-id: {}\r\ncontent-length: {}\r\n",
            security_header_lines(),
            self.ids.make().as_str(),
            body.len(),
        );
        let (head, end) = (&answer[..place], &answer[place + NO_BODY.len()..]);
        Some([head, fields.as_bytes(), end, body.as_bytes()].concat())
    }
}

impl<S: AsyncWrite + Unpin> WithErrorBodies<S> {
    /// Writes what is left of an answer that got a body; then the length that it had without.
    fn write_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        while !self.rest.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.rest.drain(..written);
        }
        Poll::Ready(Ok(self.given))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithErrorBodies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithErrorBodies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        answer: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.rest.is_empty() {
            let Some(explained) = self.explained(answer) else {
                return Pin::new(&mut self.stream).poll_write(context, answer);
            };
            self.rest = explained;
            self.given = answer.len();
        }
        self.write_rest(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // An answer without a body is in one piece.
        if let [answer] = slices {
            return self.poll_write(context, answer);
        }
        if self.rest.is_empty() {
            return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        }
        self.write_rest(context)
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
