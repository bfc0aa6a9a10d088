//! A load generator of constant rate: requests fall due at random moments of a given mean rate,
//! whether or not earlier ones were answered, and are timed from the moment they fell due.
//!
//! `wrk`, beside which it is used, sends a connection's next request when the last one was answered:
//! right for the greatest load, wrong for "the latency at half of it". With `--rate` left out `pace`
//! does the same as `wrk`; with `--requests` it sends that many and waits for each answer, so that
//! counts can be compared exactly. The result is one line of JSON.

use std::error::Error;
use std::fs;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;

mod arrivals;
mod connection;
mod driver;
mod report;

use arrivals::Arrivals;
use driver::Driver;

/// What to send, how fast, and for how long.
#[derive(Parser)]
#[command(about = "Sends HTTP requests at a constant rate and times them from when they fell due")]
struct Options {
    /// Where to send them: host and port.
    #[arg(long)]
    address: String,
    /// A file of paths, one a line, asked in turn and again from the start.
    #[arg(long)]
    paths: PathBuf,
    /// The line of `paths` to begin with.
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Keep-alive connections.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Requests per second; left out: each connection's next request follows its last answer.
    #[arg(long)]
    rate: Option<f64>,
    /// How long requests fall due.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How many requests, at most; alone it also lifts the limit of `seconds`.
    #[arg(long)]
    requests: Option<u64>,
    /// Method of every request.
    #[arg(long, default_value = "GET")]
    method: String,
    /// A further header line of every request, as `Name: value`.
    #[arg(long)]
    header: Vec<String>,
    /// Body of every request.
    #[arg(long, default_value = "")]
    body: String,
    /// How long answers are waited for once the last request fell due.
    #[arg(long, default_value_t = 10.0)]
    drain: f64,
    /// Never sleep, on a core of its own: whoever answers a sleeper on the same machine pays for waking it.
    #[arg(long)]
    awake: bool,
}

/// An hour: what `--requests` may take at most.
const LIMIT: Duration = Duration::from_hours(1);

/// How long to sleep at most.
const NAP: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    // Wake up when a request is due, not up to 50 us later.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
    let text = fs::read_to_string(&options.paths)?;
    let paths: Vec<&str> = text.lines().collect();
    if paths.is_empty() || options.connections == 0 {
        return Err("there must be at least one path and one connection".into());
    }
    let mut tail = format!(" HTTP/1.1\r\nHost: {}\r\n", options.address);
    for header in &options.header {
        tail.push_str(header);
        tail.push_str("\r\n");
    }
    if options.method != "GET" {
        tail.push_str(&format_args!("Content-Length: {}\r\n", options.body.len()).to_string());
    }
    tail.push_str("\r\n");
    tail.push_str(&options.body);
    let nap = if options.awake { Duration::ZERO } else { NAP };
    let mut driver = Driver::connect(&options.address, options.connections, nap)?;
    let begin = Instant::now();
    let span = match options.requests {
        Some(_) => LIMIT,
        None => Duration::try_from_secs_f64(options.seconds)?,
    };
    let arrivals = Arrivals::new(begin, span, options.rate, options.requests);
    let drain = Duration::try_from_secs_f64(options.drain)?;
    let mut turn = paths.iter().cycle().skip(options.skip % paths.len());
    let report = driver.run(arrivals, drain, |request| {
        request.extend_from_slice(options.method.as_bytes());
        request.push(b' ');
        request.extend_from_slice(turn.next().map_or("/", |path| *path).as_bytes());
        request.extend_from_slice(tail.as_bytes());
    })?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
