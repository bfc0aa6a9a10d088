//! Writes a flush to the database, piece by piece, and has Redis forget it.

use std::time::Instant;

use tokio::sync::MutexGuard;
use tokio::time::sleep;

use super::piece::Piece;
use super::scan::TIMEOUT;
use super::{FlushError, Flushed, Flusher, LEASE, LONGEST_PAUSE};
use crate::clicks::Pace;
use crate::shared_redis::{RedisFailure, RedisShard, Term, scripts};
use crate::store::{FlushId, FlushMark, StoreError};

/// Links per transaction, which bounds how long a core is kept busy; `load/scale --only pending` measures it.
const LINKS_PER_STEP: usize = 2_000;

impl Flusher {
    /// Writes a flush to the database, and has Redis forget it; returns [`FlushMark::Whole`], [`FlushMark::Superseded`],
    /// [`FlushMark::OfAnother`], or another mark if the flush has to wait. Adds to `flushed` what this call wrote. Gives up its turn to
    /// read once a piece is read.
    pub(super) async fn write_flush(
        &self,
        redis: &RedisShard,
        term: &Term,
        flush: &FlushId,
        turn: &mut Option<MutexGuard<'_, ()>>,
        flushed: &mut Flushed,
    ) -> Result<FlushMark, FlushError> {
        let mut mark = self.store.flush_mark(flush).await?;
        // A mark that another instance left may be lost in a crash of the database.
        let mut durable = FlushMark::Nothing;
        while let FlushMark::Nothing | FlushMark::UpTo(_) = mark {
            let reading = Piece::read(redis, flush, mark, durable, self.pieces);
            let Some(mut piece) = reading.await? else {
                return Ok(FlushMark::Superseded);
            };
            let writing = self.writers.permit().await;
            // Another piece or flush of the shard needs no turn: it has the place already.
            drop(turn.take());
            if !piece.is_empty() {
                self.keep_draining(redis, term).await?;
            }
            mark = self
                .write_piece(redis, flush, &mut piece, mark, flushed)
                .await?;
            if piece.rest(mark).is_some() {
                return Ok(mark);
            }
            if let FlushMark::UpTo(_) = mark
                && self.store.make_durable(flush, mark).await?
            {
                durable = mark;
            }
            drop(writing);
        }
        match mark {
            FlushMark::OfAnother => doubt(redis, flush).await?,
            FlushMark::Whole => finish(redis, flush).await?,
            _ => {}
        }
        Ok(mark)
    }

    /// Writes a piece from a mark on. Returns where the ledger stands then: there is a rest of the piece only if it has to wait.
    async fn write_piece(
        &self,
        redis: &RedisShard,
        flush: &FlushId,
        piece: &mut Piece,
        mut mark: FlushMark,
        flushed: &mut Flushed,
    ) -> Result<FlushMark, StoreError> {
        let mut pace = Pace::within(0.0..=LONGEST_PAUSE);
        while let Some(part) = piece.take_part(mark, LINKS_PER_STEP) {
            let started = Instant::now();
            let before = mark;
            mark = self
                .store
                .apply_flush(flush, before, part.clicks, &part.details, part.up_to)
                .await?;
            if mark == before {
                return Ok(mark);
            }
            if mark == part.up_to {
                for of_link in part.clicks {
                    flushed.add(Flushed {
                        links: 1,
                        clicks: of_link.clicks,
                    });
                }
            }
            let pause = pace.pause_after(started.elapsed(), redis.delay());
            sleep(pause.min(LEASE / 4)).await;
        }
        Ok(mark)
    }
}

async fn finish(redis: &RedisShard, flush: &FlushId) -> Result<(), RedisFailure> {
    let keys = redis.keys();
    let batch = keys.flush(&flush.epoch, flush.number);
    let mut call = scripts::FINISH_FLUSH.call(&[
        &keys.state(),
        &keys.flushing(),
        &batch,
        &keys.intervals(),
        &keys.details_of(&flush.epoch, flush.number),
    ]);
    call.arg(flush.term).arg(flush.number).arg(&flush.name);
    redis.query(&call, TIMEOUT).await
}

/// Has the data set recovered: another flush was written back under the number of this one.
async fn doubt(redis: &RedisShard, flush: &FlushId) -> Result<(), RedisFailure> {
    let mut call = scripts::DOUBT_FLUSH.call(&[&redis.keys().state()]);
    call.arg(flush.term);
    redis.query(&call, TIMEOUT).await
}
