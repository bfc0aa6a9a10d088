//! `shunt export`

use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::output_file::OutputFile;
use super::{Api, Call, Failure, ServiceArgs};

/// In which form the links are written, and where.
#[derive(Args)]
pub(in crate::cli) struct ExportArgs {
    /// Format of the export. `shunt import --from shunt` reads both.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// File to write; by default, or with `-`, standard output.
    #[arg(short, long, value_name = "FILE")]
    #[arg(default_value = "-", hide_default_value = true)]
    output: PathBuf,
    /// Write the hashes of the links' passwords, too, so that these links can be imported elsewhere.
    #[arg(long)]
    secrets: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for spreadsheets.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

/// Writes all links of the user as they come.
pub(super) fn export(args: ExportArgs) -> Result<(), Failure> {
    let timeout = Duration::from_secs(args.service.timeout);
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let format = match args.format {
        Format::Csv => "csv",
        Format::Ndjson => "ndjson",
    };
    let mut query = vec![("format", format)];
    if args.secrets {
        query.push(("secrets", "true"));
    }
    OutputFile::at(&args.output)?.write(timeout, |out| {
        let links = api.stream(Call::get("/urls/export").query(&query).token(&token))?;
        copy(&api, links, out)
    })
}

fn copy(api: &Api, mut from: impl Read, mut to: impl Write) -> Result<(), Failure> {
    let mut part = vec![0; 64 * 1024];
    loop {
        // An error of reading belongs to the service, an error of writing to the output.
        match from.read(&mut part) {
            Ok(0) => break,
            Ok(length) => to.write_all(&part[..length])?,
            Err(error) => {
                let service = api.service();
                return Err(Failure::Unavailable(format!(
                    "the response of {service} broke off: {error}"
                )));
            }
        }
    }
    to.flush()?;
    Ok(())
}
