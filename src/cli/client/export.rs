//! `shunt export`

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{Api, Call, Failure, ServiceArgs};

/// In which form the links are written, and where.
#[derive(Args)]
pub(in crate::cli) struct ExportArgs {
    /// Form of the export. `shunt import --from shunt` reads both.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// File to write; without it, standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for spreadsheets.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

/// Writes all links of the user as they come.
pub(super) fn export(args: ExportArgs) -> Result<(), Failure> {
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let format = match args.format {
        Format::Csv => "csv",
        Format::Ndjson => "ndjson",
    };
    let query = [("format", format)];
    let links = api.stream(Call::get("/urls/export").query(&query).token(&token))?;
    match args.output {
        None => copy(&api, links, io::stdout().lock()),
        Some(file) => replace(&file, |out| copy(&api, links, out)),
    }
}

fn copy(api: &Api, mut from: impl Read, mut to: impl Write) -> Result<(), Failure> {
    let mut part = vec![0; 64 * 1024];
    loop {
        // An error of reading is the service's, one of writing is the output's.
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

/// Writes a file as a whole, or not at all: an incomplete one would look complete.
pub(super) fn replace(
    file: &Path,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let fault = |error: io::Error| Failure::Failed(format!("{}: {error}", file.display()));
    let mut out = File::create(&unfinished).map_err(fault)?;
    let written = write(&mut out).and_then(|()| {
        out.sync_all().map_err(fault)?;
        fs::rename(&unfinished, file).map_err(fault)
    });
    if written.is_err() {
        // An unfinished file is of no use.
        let _ = fs::remove_file(&unfinished);
    }
    written
}
