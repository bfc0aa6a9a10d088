//! Brings due requests and idle connections together.

use std::collections::VecDeque;
use std::io::{ErrorKind, Result};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use crate::arrivals::Arrivals;
use crate::connection::Connection;
use crate::report::{Report, Tally};

/// Broken connections after which a run is given up.
const FAILURE_LIMIT: u64 = 1000;

/// All connections, the idle ones, and the requests that are due.
pub(crate) struct Driver {
    address: String,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    idle: VecDeque<usize>,
    backlog: VecDeque<Instant>,
    buffer: Vec<u8>,
    /// The longest sleep.
    nap: Duration,
}

impl Driver {
    /// Opens all connections.
    pub(crate) fn connect(address: &str, connections: usize, nap: Duration) -> Result<Self> {
        let mut driver = Self {
            address: address.to_owned(),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::with_capacity(connections),
            idle: (0..connections).collect(),
            backlog: VecDeque::new(),
            buffer: vec![0; 64 * 1024],
            nap,
        };
        for number in 0..connections {
            let connection = Connection::open(address)?;
            driver.connections.push(connection);
            driver.watch(number)?;
        }
        Ok(driver)
    }

    /// Sends a request for each of the `arrivals`, as written by `write`, until all are answered or `drain` has passed since
    /// the last one was due. With a path it writes a line for each second there.
    pub(crate) fn run(
        &mut self,
        mut arrivals: Arrivals,
        drain: Duration,
        by_second: Option<&Path>,
        mut write: impl FnMut(&mut Vec<u8>),
    ) -> Result<Report> {
        let begin = Instant::now();
        let mut tally = Tally::new(by_second, begin)?;
        let mut request = Vec::new();
        let mut last_wait = None;
        loop {
            let now = Instant::now();
            self.gather(&mut arrivals, now);
            while let Some(due) = self.next_due(&mut arrivals, now) {
                let Some(number) = self.idle.pop_front() else {
                    self.backlog.push_front(due);
                    break;
                };
                request.clear();
                write(&mut request);
                tally.sent += 1;
                if self.connections[number].send(&request, due).is_err()
                    && !self.replace(number, &mut tally)?
                {
                    return Ok(tally.report(begin.elapsed(), self.outstanding()));
                }
            }
            tally.tick(now, self.backlog.len())?;
            let is_over = arrivals.is_over(now);
            let is_answered = self.idle.len() == self.connections.len() && self.backlog.is_empty();
            let given_up = is_over && *last_wait.get_or_insert(now + drain) <= now;
            if (is_over && is_answered) || given_up || tally.failed > FAILURE_LIMIT {
                return Ok(tally.report(begin.elapsed(), self.outstanding()));
            }
            let wait = if is_over || self.idle.is_empty() || arrivals.next() <= now {
                self.nap
            } else {
                self.nap.min(arrivals.next() - now)
            };
            if !self.receive(wait, &mut tally)? {
                return Ok(tally.report(begin.elapsed(), self.outstanding()));
            }
        }
    }

    /// Due requests that are not answered.
    fn outstanding(&self) -> usize {
        self.connections.len() - self.idle.len() + self.backlog.len()
    }

    /// Moves due requests to the backlog; without a rate the connections set the pace.
    fn gather(&mut self, arrivals: &mut Arrivals, now: Instant) {
        while arrivals.has_rate() {
            let Some(due) = arrivals.due(now) else { break };
            self.backlog.push_back(due);
        }
    }

    fn next_due(&mut self, arrivals: &mut Arrivals, now: Instant) -> Option<Instant> {
        if arrivals.has_rate() {
            self.backlog.pop_front()
        } else if self.idle.is_empty() {
            None
        } else {
            arrivals.due(now)
        }
    }

    /// Reads the responses that arrive within `wait`; `false` once the server is gone.
    fn receive(&mut self, wait: Duration, tally: &mut Tally) -> Result<bool> {
        let timeout = Timespec::try_from(wait).map_err(|_| ErrorKind::InvalidInput)?;
        let mut space = [MaybeUninit::uninit(); 512];
        let (events, _) = match epoll::wait(&self.epoll, &mut space, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            result => result?,
        };
        for event in events {
            let number = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
            let connection = &mut self.connections[number];
            match connection.receive(&mut self.buffer) {
                Ok(None) => {}
                Ok(Some(status)) => {
                    if let Some(due) = connection.due.take() {
                        tally.answered(status, due.elapsed());
                        self.idle.push_back(number);
                    }
                }
                Err(_) if self.replace(number, tally)? => {}
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Opens a broken connection again, whose request has failed; `false` if no server listens.
    fn replace(&mut self, number: usize, tally: &mut Tally) -> Result<bool> {
        tally.failed += 1;
        let was_idle = self.connections[number].due.is_none();
        match Connection::open(&self.address) {
            Ok(connection) => self.connections[number] = connection,
            Err(error) if is_gone(error.kind()) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.watch(number)?;
        if !was_idle {
            self.idle.push_back(number);
        }
        Ok(true)
    }

    fn watch(&self, number: usize) -> Result<()> {
        let socket = self.connections[number].socket();
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::add(
            &self.epoll,
            socket,
            data,
            epoll::EventFlags::IN,
        )?)
    }
}

/// Whether a failure to connect means that no server listens any more.
fn is_gone(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
    )
}
