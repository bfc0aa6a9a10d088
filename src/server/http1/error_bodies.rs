//! A connection on which hyper's own errors get a body: hyper answers a request that it cannot read with only a status, without
//! a call of the service. A request whose first line is too long is 414: to hyper it is just a head that is too large.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::render::error_with_body;
use crate::http::RequestIds;

/// A connection on which errors without a body get one.
pub(super) struct WithErrorBodies<S> {
    stream: S,
    ids: Arc<RequestIds>,
    /// Whether a line of the client's has come in full since the last response.
    has_line: bool,
    /// The bytes of a response with an added body that are still to be written.
    unwritten: Vec<u8>,
    /// The length of that response as hyper gave it.
    original_length: usize,
}

impl<S> WithErrorBodies<S> {
    pub(super) fn new(stream: S, ids: Arc<RequestIds>) -> Self {
        Self {
            stream,
            ids,
            has_line: false,
            unwritten: Vec::new(),
            original_length: 0,
        }
    }
}

impl<S: AsyncWrite + Unpin> WithErrorBodies<S> {
    /// Writes the rest of a response with an added body, and then reports the length that hyper gave.
    fn write_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        while !self.unwritten.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, &self.unwritten))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.unwritten.drain(..written);
        }
        Poll::Ready(Ok(self.original_length))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WithErrorBodies<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.has_line = self.has_line || buffer.filled()[before..].contains(&b'\n');
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WithErrorBodies<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        response: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.unwritten.is_empty() {
            let is_line_cut = !std::mem::take(&mut self.has_line);
            let Some(with_body) = error_with_body(response, is_line_cut, &self.ids) else {
                return Pin::new(&mut self.stream).poll_write(context, response);
            };
            self.unwritten = with_body;
            self.original_length = response.len();
        }
        self.write_rest(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // hyper writes a response without a body in one piece.
        if let [response] = slices {
            return self.poll_write(context, response);
        }
        if self.unwritten.is_empty() {
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
