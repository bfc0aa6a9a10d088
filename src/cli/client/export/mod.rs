//! `shunt export`: all links as a file to keep, or as what another server needs to serve them.
//!
//! | files | task |
//! | --- | --- |
//! | `lasting` | the links that can be served without shunt, and what is to be said of the others |
//! | `nginx`, `caddy`, `redirects`, `html` | one form each |

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::output;
use super::output_file::{OutputFile, is_dash};
use super::{Api, Call, Failure, ServiceArgs};

mod caddy;
mod html;
mod lasting;
mod nginx;
mod redirects;

use lasting::{Lasting, LastingLink, LastingLinks, Way};

/// In which form the links are written, and where.
#[derive(Args)]
pub(in crate::cli) struct ExportArgs {
    /// Format of the export. `shunt import --from shunt` reads both.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// Write what serves the links without shunt, and say of which links that is not possible.
    #[arg(long = "as", value_enum, conflicts_with_all = ["format", "secrets"])]
    serving: Option<Serving>,
    /// File to write, with `--as html` a folder; by default, or with `-`, standard output.
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

/// What serves links without shunt.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Serving {
    /// A file that nginx includes in `http`.
    Nginx,
    /// A Caddyfile.
    Caddy,
    /// The file `_redirects` of Netlify and Cloudflare Pages.
    Redirects,
    /// A folder with a page for each link, for any server of files.
    Html,
}

/// Writes all links of the user as they come.
pub(super) fn export(args: ExportArgs) -> Result<(), Failure> {
    if let Some(serving) = args.serving {
        return export_as(serving, &args.output, args.service);
    }
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

/// Writes what serves the links without shunt.
fn export_as(serving: Serving, output: &Path, service: ServiceArgs) -> Result<(), Failure> {
    let timeout = Duration::from_secs(service.timeout);
    let is_folder = serving == Serving::Html;
    if is_folder && is_dash(output) {
        return Err(Failure::Usage(
            "--as html writes a folder; name it with -o FOLDER".into(),
        ));
    }
    let api = Api::new(service)?;
    let token = api.token()?;
    let read = || {
        let query = [("format", "ndjson")];
        let lines = api.stream(Call::get("/urls/export").query(&query).token(&token))?;
        LastingLinks::read(lines, &api.service().to_string())
    };
    let mut lasting = LastingLinks::default();
    if is_folder {
        html::check_folder(output)?;
        lasting = read()?;
        html::write(&lasting, output)?;
    } else {
        OutputFile::at(output)?.write(timeout, |out| {
            lasting = read()?;
            let text = match serving {
                Serving::Nginx => nginx::text(&lasting),
                Serving::Caddy => caddy::text(&lasting),
                Serving::Redirects | Serving::Html => redirects::text(&lasting),
            };
            out.write_all(text.as_bytes())?;
            Ok(out.flush()?)
        })?;
    }
    let of_form = match serving {
        Serving::Redirects => redirects::notes(&lasting),
        Serving::Html => html::notes(&lasting),
        Serving::Nginx | Serving::Caddy => Vec::new(),
    };
    for note in lasting.notes().into_iter().chain(of_form) {
        output::note(&note);
    }
    Ok(())
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
