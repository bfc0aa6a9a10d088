//! A load generator of constant rate: requests are due at random moments of a given mean rate, whether or not earlier
//! ones were answered, and latency counts from the moment when a request was due.
//!
//! `wrk`, which the benchmarks use as well, sends a connection's next request when the last one was answered. That is
//! right for the greatest load, and wrong for "the latency at half of it". Without `--rate` `pace` does the same as
//! `wrk`; with `--requests` it sends that many and waits for each response, so that counts can be compared exactly. The
//! result is one line of JSON.

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

/// The requests, their rate, and the duration.
#[derive(Parser)]
#[command(about = "Sends HTTP requests at a constant rate and times them from when they fell due")]
struct Options {
    /// Host and port of the server.
    #[arg(long)]
    address: String,
    /// A file of paths, one a line, requested in turn and again from the start.
    #[arg(long)]
    paths: PathBuf,
    /// The first line of `paths` to use.
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Keep-alive connections.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Requests per second. Without a rate each connection's next request follows its last response.
    #[arg(long)]
    rate: Option<f64>,
    /// The time during which requests are due, in seconds.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// The greatest number of requests; alone it also removes the limit of `seconds`.
    #[arg(long)]
    requests: Option<u64>,
    /// The method of every request.
    #[arg(long, default_value = "GET")]
    method: String,
    /// A further header line of every request, as `Name: value`.
    #[arg(long)]
    header: Vec<String>,
    /// A file of agents and referrers, one pair a line with a tab between, sent in turn.
    #[arg(long)]
    visitors: Option<PathBuf>,
    /// A file to write: the latencies of each second.
    #[arg(long)]
    by_second: Option<PathBuf>,
    /// The body of every request.
    #[arg(long, default_value = "")]
    body: String,
    /// How long to wait for responses after the last request was due, in seconds.
    #[arg(long, default_value_t = 10.0)]
    drain: f64,
    /// Never sleep, on a core of its own: a server on the same machine would pay for waking this process.
    #[arg(long)]
    awake: bool,
}

/// An hour: the limit of `--requests` alone.
const LIMIT: Duration = Duration::from_hours(1);

/// The longest sleep.
const NAP: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    // Wakes up when a request is due, not up to 50 us later.
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
    let end = format!("\r\n{}", options.body);
    let visitors = match &options.visitors {
        Some(file) => fs::read_to_string(file)?.lines().map(headers_of).collect(),
        None => vec![String::new()],
    };
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
    let mut visitors = visitors.iter().cycle();
    let report = driver.run(arrivals, drain, options.by_second.as_deref(), |request| {
        request.extend_from_slice(options.method.as_bytes());
        request.push(b' ');
        request.extend_from_slice(turn.next().map_or("/", |path| *path).as_bytes());
        request.extend_from_slice(tail.as_bytes());
        request.extend_from_slice(visitors.next().map_or("", |visitor| visitor).as_bytes());
        request.extend_from_slice(end.as_bytes());
    })?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// The headers of a visitor, from a line of the file.
fn headers_of(line: &str) -> String {
    match line.split_once('\t') {
        Some((agent, "")) => format!("User-Agent: {agent}\r\n"),
        Some((agent, referrer)) => format!("User-Agent: {agent}\r\nReferer: {referrer}\r\n"),
        None => String::new(),
    }
}
