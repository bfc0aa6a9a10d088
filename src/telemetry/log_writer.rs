//! Writes the log in a thread of its own, so that no request waits for a paused terminal or a slow reader.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Max lines of the log that wait to be written; further ones are dropped.
const MAX_WAITING: usize = 8_192;

/// How long the process waits at its end for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How often a full queue is asked whether it takes the end.
const PAUSE: Duration = Duration::from_millis(10);

enum Message {
    Line(Vec<u8>),
    /// Everything before it has to be written now.
    End(SyncSender<()>),
}

/// The queue of lines; cheap to clone. A line that finds it full is dropped.
#[derive(Clone)]
pub(super) struct LogWriter(SyncSender<Message>);

/// Writes the lines that wait when it is dropped, within a second.
#[must_use]
pub struct LogGuard(SyncSender<Message>);

/// Starts the thread that writes lines to `output`, until the guard is dropped.
pub(super) fn start(output: impl Write + Send + 'static) -> io::Result<(LogWriter, LogGuard)> {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    thread::Builder::new()
        .name("log".into())
        .spawn(move || write_all(output, &receiver))?;
    Ok((LogWriter(sender.clone()), LogGuard(sender)))
}

fn write_all(mut output: impl Write, lines: &Receiver<Message>) {
    while let Ok(mut message) = lines.recv() {
        // Lines that wait are flushed together. A log that cannot be written has no reader.
        loop {
            match message {
                Message::Line(line) => drop(output.write_all(&line)),
                Message::End(written) => {
                    let _ = output.flush();
                    let _ = written.try_send(());
                    return;
                }
            }
            message = match lines.try_recv() {
                Ok(next) => next,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            };
        }
        let _ = output.flush();
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(Message::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let end = Instant::now() + LAST_LINES;
        let (written, is_written) = sync_channel(1);
        while self.0.try_send(Message::End(written.clone())).is_err() {
            if Instant::now() >= end {
                return;
            }
            thread::sleep(PAUSE);
        }
        let _ = is_written.recv_timeout(end.saturating_duration_since(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A reader that takes nothing until another one lets it.
    struct Paused(Arc<Barrier>, Lines, bool);

    impl Write for Paused {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            if !std::mem::replace(&mut self.2, true) {
                self.0.wait();
                self.0.wait();
            }
            self.1.write(line)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_lines_are_written_when_the_guard_is_dropped() {
        let lines = Lines::default();
        let (mut writer, guard) = start(lines.clone()).unwrap();
        let mut expected = String::new();
        for number in 0..1_000 {
            let line = format!("line {number}\n");
            writer.write_all(line.as_bytes()).unwrap();
            expected.push_str(&line);
        }
        drop(guard);
        assert_eq!(*lines.0.lock().unwrap(), expected.as_bytes());
    }

    #[test]
    fn a_reader_that_pauses_delays_nobody_and_lines_beyond_the_queue_are_dropped() {
        let (lines, barrier) = (Lines::default(), Arc::new(Barrier::new(2)));
        let (mut writer, guard) =
            start(Paused(Arc::clone(&barrier), lines.clone(), false)).unwrap();
        writer.write_all(b".").unwrap();
        // From here on it has the first line, and waits.
        barrier.wait();
        for _ in 0..MAX_WAITING + 100 {
            writer.write_all(b".").unwrap();
        }
        barrier.wait();
        drop(guard);
        assert_eq!(lines.0.lock().unwrap().len(), 1 + MAX_WAITING);
    }
}
