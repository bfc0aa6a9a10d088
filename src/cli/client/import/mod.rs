//! `shunt import`: from the file of another service to links of an account. `shunt::import` reads the file.
//!
//! | files | task |
//! | --- | --- |
//! | `source_file` | opens the file |
//! | `importer`, `pending` | check links and gather batches of up to 1,000 |
//! | `settling`, `bulk`, `drawing` | send a batch, and find links that are there already |
//! | `sender`, `state`, `list_file` | list what was refused or left behind, keep how far the import is |
//! | `dry_run` | says how an import would end |
//! | `remote` | reads the links of a running service into a file |

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use shunt::domain::OwnHost;
use shunt::import::{OtherPages, Placing, Source};

use super::output::{self, harmless};
use super::output_file::is_dash;
use super::service_url::ServiceUrl;
use super::{Api, Failure, ServiceArgs};

mod bulk;
mod drawing;
mod dry_run;
mod importer;
mod list_file;
mod pending;
mod progress_bar;
mod remote;
mod sender;
mod settling;
mod source_file;
mod state;
mod tally;

use bulk::Bulk;
use drawing::Drawing;
use dry_run::DryRun;
use importer::Importer;
use progress_bar::ProgressBar;
use remote::Remote;
use sender::{Lists, Sender};
use settling::Settling;
use source_file::SourceFile;
use state::StateFile;
use tally::{Besides, Listed, Tally};

/// The file to import.
#[derive(Args)]
pub(in crate::cli) struct ImportArgs {
    /// The file to import. Anything in it that shunt cannot store is listed in `FILE.left-behind.csv`. With `--from-url` the links are
    /// read into it; by default into a file in this folder that is named after the address.
    #[arg(required_unless_present = "from_url")]
    file: Option<PathBuf>,
    /// Which service wrote it.
    #[arg(long, value_enum)]
    from: Source,
    /// Read the links from a running Shlink, Kutt or YOURLS at this address. Its key comes from `SHUNT_FROM_KEY`, or is asked for.
    #[arg(long, value_name = "URL")]
    from_url: Option<ServiceUrl>,
    /// Check the file, look up which codes are taken, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Give a link a new code if its own code is not valid here. New codes are listed in `FILE.new-codes.csv`.
    #[arg(long)]
    new_codes: bool,
    /// Where refused links are listed, instead of `FILE.refused.csv`.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    refused: Option<PathBuf>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Imports a file, or says how that would end.
pub(super) fn import(mut args: ImportArgs) -> Result<(), Failure> {
    let remote = args.from_url.take();
    let remote = remote.map(|url| Remote::new(args.from, url, args.service.timeout));
    let Some(remote) = remote.transpose()? else {
        let file = args.file.take().unwrap_or_default();
        return import_file(args, &file);
    };
    if args.dry_run {
        // It leaves nothing behind.
        let folder = tempfile::tempdir().map_err(|error| Failure::of(&error))?;
        let file = folder.path().join(remote.file_name());
        remote.read_into(&file)?;
        return import_file(args, &file);
    }
    let file = args.file.take().unwrap_or_else(|| remote.file_name());
    remote.read_into(&file)?;
    import_file(args, &file)
}

fn import_file(args: ImportArgs, file: &Path) -> Result<(), Failure> {
    if args.dry_run {
        dry_run(args, file)
    } else {
        import_into_account(args, file)
    }
}

fn dry_run(args: ImportArgs, file: &Path) -> Result<(), Failure> {
    let file = SourceFile::open(file)?;
    let encoding = file.encoding();
    let json = args.service.json;
    let host = args.service.server.own_host();
    let host = host.unwrap_or_else(OwnHost::unknown);
    let bar = ProgressBar::new(file.size())?;
    let api = Api::new(args.service)?;
    let token = api.token();
    let settling = token
        .as_ref()
        .map_err(ToString::to_string)
        .and_then(|token| {
            let bulk = Bulk::new(&api, token, &bar, true);
            settling_of(bulk, &api).map_err(|failure| failure.to_string())
        });
    let (settling, unchecked) = match settling {
        Ok(settling) => (Some(settling), None),
        Err(why) => (None, Some(why)),
    };
    let mut importer = Importer::new(
        host,
        args.new_codes,
        file.bytes(),
        Placing::default(),
        DryRun::new(settling),
    );
    let read = file.read(args.from.format(), &mut importer);
    let read = importer.end(read);
    bar.end();
    let others = read?;
    let unlooked = if importer.placing.has_hosts() {
        "codes are taken and which hosts are served"
    } else {
        "codes are taken"
    };
    let DryRun {
        tally,
        refusals,
        left_behind,
        has_codes,
        ..
    } = importer.destination;
    let besides = Besides {
        others,
        encoding,
        unchecked: unchecked.filter(|_| has_codes).map(|why| (unlooked, why)),
        left_behind: &left_behind,
    };
    print_tally(&tally, None, &besides, json)?;
    note_lines(&refusals);
    refusal(tally.refused, "would be")
}

fn settling_of<'a>(bulk: Bulk<'a>, api: &Api) -> Result<Settling<'a>, Failure> {
    let drawing = Drawing::of(&api.service().to_string(), bulk.account()?)?;
    Ok(Settling { bulk, drawing })
}

fn import_into_account(args: ImportArgs, path: &Path) -> Result<(), Failure> {
    let json = args.service.json;
    let file = SourceFile::open(path)?;
    let encoding = file.encoding();
    let _lock = source_file::lock(path)?;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let bar = ProgressBar::new(file.size())?;
    let bulk = Bulk::new(&api, &token, &bar, false);
    let account = bulk.account()?;
    let settling = settling_of(bulk, &api)?;
    let state = StateFile::beside(path);
    let progress = state.open(&api.service().to_string(), account)?;
    let mut lists = Lists::beside(path);
    if let Some(refused) = args.refused {
        lists.refused = refused;
    }
    check_list(&lists.refused, path)?;
    let sender = Sender::new(settling, &bar, state, progress, &lists)?;
    // The service's public host may differ from the host of `--server`.
    let host = OwnHost::unknown();
    let mut importer = Importer::new(
        host,
        args.new_codes,
        file.bytes(),
        Placing::of(sender.moved_from()),
        sender,
    );
    let read = file.read(args.from.format(), &mut importer);
    let ended = importer.end(read);
    bar.end();
    let sender = importer.destination;
    let others = match ended {
        Ok(others) => others,
        Err(failure) => {
            note_where_it_goes_on(sender.done());
            return Err(failure);
        }
    };
    let (tally, listed) = sender.end()?;
    let besides = Besides {
        others,
        encoding,
        unchecked: None,
        left_behind: &sender.shown,
    };
    print_tally(&tally, Some(&listed), &besides, json)?;
    refusal(tally.refused, "were")
}

/// The list of refused links is cut back and gone on with, and must not be the file that is read.
fn check_list(refused: &Path, file: &Path) -> Result<(), Failure> {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let fault = if is_dash(refused) {
        "must be a file, so that an interrupted import can continue the list"
    } else if identity(refused).is_some_and(|refused| Some(refused) == identity(file)) {
        "is the file that is imported; name another file"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(format!("--refused {fault}")))
}

fn note_where_it_goes_on(done: u64) {
    if done > 0 {
        output::note(&format!(
            "{done} entries are done; the same command goes on after them"
        ));
    }
}

fn note_lines(lines: &[(u64, String)]) {
    for (line, text) in lines {
        output::note(&format!("line {line}: {text}"));
    }
}

/// Refused links are a failure: scripts have to notice.
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

fn print_tally(
    tally: &Tally,
    listed: Option<&Listed<'_>>,
    besides: &Besides<'_>,
    json: bool,
) -> Result<(), Failure> {
    if !json {
        tally.print(&mut output::stdout(), listed, besides)?;
        return Ok(());
    }
    let mut summary = json!(tally);
    summary["on_other_pages"] = match besides.others {
        None => 0.into(),
        Some(OtherPages::Links(more)) => more.into(),
        Some(OtherPages::Some) => "some".into(),
    };
    summary["encoding"] = besides.encoding.to_string().into();
    let unchecked = besides.unchecked.as_ref().map(|(_, why)| why.clone());
    summary["codes_not_looked_up"] = unchecked.into();
    let left = besides.left_behind.iter();
    let left = left.map(|(line, what)| json!({ "line": line, "what": what }));
    summary["left_behind"] = left.collect();
    if let Some(listed) = listed {
        let name = |path: &Path| harmless(&path.to_string_lossy()).into_owned();
        summary["refused_file"] = (tally.refused > 0).then(|| name(listed.refused)).into();
        summary["new_codes_file"] = (tally.new_codes > 0).then(|| name(listed.new_codes)).into();
        let is_left_behind = !tally.notes.is_empty();
        summary["left_behind_file"] = is_left_behind.then(|| name(listed.left_behind)).into();
    }
    output::json_line(&summary)
}
