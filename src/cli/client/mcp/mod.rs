//! `shunt mcp`: a server of the Model Context Protocol over standard input and output, for the links of one account.

use std::io::{self, BufRead, Read, Write};

use clap::Args;
use serde_json::Value;

use super::{Api, Call, Failure, ServiceArgs};

mod protocol;
mod tools;

/// Longest message that is read.
const MAX_MESSAGE: u64 = 1 << 20;

/// The service whose links a program may use.
#[derive(Args)]
pub(in crate::cli) struct McpArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Answers messages, each on a line, until standard input ends.
pub(super) fn serve(args: McpArgs) -> Result<(), Failure> {
    let api = Api::new(args.service)?;
    // A program that starts this would learn it only with the first call.
    api.token()?;
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input
            .by_ref()
            .take(MAX_MESSAGE)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.len() as u64 == MAX_MESSAGE && line.last() != Some(&b'\n') {
            return Err(Failure::Failed("a message is longer than 1 MiB".into()));
        }
        let call = |name: &str, arguments| tools::call(&api, name, arguments);
        if let Some(answer) = protocol::answer(&line, call) {
            write(&answer)?;
        }
    }
}

fn write(message: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string(message).map_err(|error| Failure::of(&error))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
