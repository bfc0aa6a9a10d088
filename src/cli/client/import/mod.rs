//! `shunt import`: from the file of another service to links of an account.
//!
//! | files | task |
//! | --- | --- |
//! | `entry_source`, `csv_file`, `json_file`, `meter` | read a file entry by entry, in bounded memory |
//! | `record`, `source`, `format`, and one file for each format | turn an entry into a link |
//! | `importer` | checks links and gathers batches of up to 1,000 |
//! | `sender`, `bulk`, `state`, `list_file` | send a batch, list refused links, keep how far the import is |

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::output::{self, harmless};
use super::output_file::is_dash;
use super::{Api, Failure, ServiceArgs};

mod bitly;
mod bulk;
mod chhoto;
mod csv_file;
mod entry;
mod entry_source;
mod format;
mod importer;
mod json_file;
mod kutt;
mod link;
mod list_file;
mod meter;
mod note;
mod own;
mod pending;
mod progress_bar;
mod record;
mod sender;
mod shlink;
mod source;
mod spreadsheet;
mod state;
mod tally;
#[cfg(test)]
mod tests;
mod yourls;

use bulk::Bulk;
use entry_source::EntrySource;
use importer::{Destination, Importer};
use progress_bar::ProgressBar;
use sender::Sender;
use source::Source;
use state::StateFile;
use tally::{Listed, Tally};

/// The file to import.
#[derive(Args)]
pub(in crate::cli) struct ImportArgs {
    /// The file.
    file: PathBuf,
    /// Which service wrote it.
    #[arg(long, value_enum)]
    from: Source,
    /// Read and check the file, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Give a link another code where the service does not take its own for its form. They are listed in
    /// `FILE.new-codes.csv`.
    #[arg(long)]
    new_codes: bool,
    /// Where refused links are listed, instead of `FILE.refused.csv`.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    refused: Option<PathBuf>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Imports a file, or says how that would end.
pub(super) fn import(args: ImportArgs) -> Result<(), Failure> {
    if args.dry_run {
        dry_run(&args)
    } else {
        import_into_account(args)
    }
}

fn dry_run(args: &ImportArgs) -> Result<(), Failure> {
    let source = EntrySource::open(&args.file)?;
    let format = args.from.format();
    let host = args.service.server.own_host();
    let destination = Destination::DryRun {
        tally: Tally::default(),
        refusals: Vec::new(),
    };
    let mut importer = Importer::new(format, host, args.new_codes, source.meter(), destination);
    let read = source.read(format, &mut importer);
    importer.end(read)?;
    print(importer, args.service.json)
}

fn import_into_account(args: ImportArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let format = args.from.format();
    let source = EntrySource::open(&args.file)?;
    let _lock = entry_source::lock(&args.file)?;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let bar = ProgressBar::new(source.size())?;
    let bulk = Bulk::new(&api, &token, &bar);
    let state = StateFile::beside(&args.file);
    let progress = state.open(&api.service().to_string(), bulk.account()?)?;
    let refused = args
        .refused
        .unwrap_or_else(|| beside(&args.file, ".refused.csv"));
    check_list(&refused, &args.file)?;
    let new_codes = beside(&args.file, ".new-codes.csv");
    let sender = Sender::new(bulk, &bar, state, progress, &refused, &new_codes)?;
    let destination = Destination::Account(Box::new(sender));
    // The service checks the targets: its public host may be another one than that of `--server`.
    let mut importer = Importer::new(format, None, args.new_codes, source.meter(), destination);
    let read = source.read(format, &mut importer);
    let ended = importer.end(read);
    bar.end();
    match ended {
        Ok(()) => print(importer, json),
        Err(failure) => {
            note_where_it_goes_on(&importer);
            Err(failure)
        }
    }
}

/// The list of refused links is cut back and gone on with, and must not be the file that is read.
fn check_list(refused: &Path, file: &Path) -> Result<(), Failure> {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let fault = if is_dash(refused) {
        "needs a file: an import that was broken off goes on with its list"
    } else if identity(refused).is_some_and(|refused| Some(refused) == identity(file)) {
        "is the file that is imported; name another"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!("--refused {fault}")))
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn note_where_it_goes_on(importer: &Importer<'_>) {
    if let Some(done) = importer.done().filter(|done| *done > 0) {
        output::note(&format!(
            "{done} entries are done; the same command goes on after them"
        ));
    }
}

/// Prints the summary. Refused links are a failure: scripts have to notice.
fn print(importer: Importer<'_>, json: bool) -> Result<(), Failure> {
    match importer.into_destination() {
        Destination::DryRun { tally, refusals } => {
            print_tally(&tally, None, json)?;
            for (line, why) in refusals {
                output::note(&format!("line {line}: {why}"));
            }
            refusal(tally.refused, "would be")
        }
        Destination::Account(sender) => {
            let (tally, listed) = sender.end()?;
            print_tally(&tally, Some(&listed), json)?;
            refusal(tally.refused, "were")
        }
    }
}

fn refusal(refused: u64, verb: &str) -> Result<(), Failure> {
    match refused {
        0 => Ok(()),
        1 => Err(Failure::Failed(format!(
            "1 link {} refused",
            verb.replace("were", "was")
        ))),
        many => Err(Failure::Failed(format!("{many} links {verb} refused"))),
    }
}

fn print_tally(tally: &Tally, listed: Option<&Listed<'_>>, json: bool) -> Result<(), Failure> {
    if !json {
        tally.print(&mut output::stdout(), listed)?;
        return Ok(());
    }
    let mut summary = json!(tally);
    if let Some(listed) = listed {
        let name = |path: &Path| harmless(&path.to_string_lossy()).into_owned();
        summary["refused_file"] = (tally.refused > 0).then(|| name(listed.refused)).into();
        summary["new_codes_file"] = (tally.new_codes > 0).then(|| name(listed.new_codes)).into();
    }
    output::json_line(&summary)
}
