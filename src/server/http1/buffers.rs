//! Buffers for requests that a worker uses again, for whichever connection has a request next.
//!
//! An idle connection has no buffer. The few that are in use stay in the processor's cache, and none is allocated for a request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;

/// How much is read at first: nearly every head is shorter.
pub(super) const FIRST_READ: usize = 4 * 1024;

/// The most buffers that wait for the next request: 1 MiB for each worker.
const MAX_SPARE: usize = 256;

/// The buffers that no connection uses.
#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<BytesMut>>);

impl Buffers {
    /// An empty buffer, with room for [`FIRST_READ`].
    pub(super) fn take(&self) -> BytesMut {
        let spare = self.spare().pop();
        spare.unwrap_or_else(|| BytesMut::with_capacity(FIRST_READ))
    }

    /// Takes the buffer of a connection back, all of whose bytes were read.
    pub(super) fn give_back(&self, mut received: BytesMut) {
        if received.capacity() == 0 {
            return;
        }
        received.clear();
        // Without an allocation: what was read makes room.
        if received.try_reclaim(FIRST_READ) && received.capacity() == FIRST_READ {
            let mut spare = self.spare();
            if spare.len() < MAX_SPARE {
                spare.push(received);
            }
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<BytesMut>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Buf;

    use super::*;

    #[test]
    fn a_buffer_whose_bytes_were_read_is_the_next_one_and_is_empty() {
        let buffers = Buffers::default();
        let mut first = buffers.take();
        first.extend_from_slice(b"a request");
        first.advance(9);
        let place = first.as_ptr().addr() - 9;
        buffers.give_back(first);
        let next = buffers.take();
        assert_eq!((next.as_ptr().addr(), next.len()), (place, 0));
        assert_eq!(next.capacity(), FIRST_READ);
    }

    #[test]
    fn neither_buffers_that_have_grown_nor_too_many_are_kept() {
        let buffers = Buffers::default();
        let mut grown = buffers.take();
        grown.extend_from_slice(&[0; FIRST_READ + 1]);
        grown.advance(FIRST_READ + 1);
        buffers.give_back(grown);
        buffers.give_back(BytesMut::new());
        assert!(buffers.spare().is_empty());
        for _ in 0..=MAX_SPARE {
            buffers.give_back(BytesMut::with_capacity(FIRST_READ));
        }
        assert_eq!(buffers.spare().len(), MAX_SPARE);
    }
}
