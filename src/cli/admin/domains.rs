//! `shunt admin domain`: hosts beside the service's own.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use shunt::abuse::{Abuse, AbuseError};
use shunt::config::Config;
use shunt::domain::{
    DomainFields, DomainHost, FieldEdit, InvalidDomain, ListedDomain, NamedOwners, SearchText,
    TargetUrl, io_reason,
};

use super::work::{newest, on_database, print};
use crate::cli::Failure;

/// Bytes that are read of a file: what the service takes is less.
const MAX_FILE: u64 = 1 << 20;

#[derive(Subcommand)]
pub(in crate::cli) enum DomainAction {
    /// List hosts, newest first.
    List(List),
    /// Add a host, which running instances know within a second.
    Add(Add),
    /// Change a host. What is not named stays as it is.
    Change(Change),
    /// Remove a host that has no links.
    Rm(Rm),
}

#[derive(Args)]
pub(in crate::cli) struct List {
    /// Only hosts with this text.
    text: Option<String>,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(in crate::cli) struct Add {
    /// The host that people share, such as go.example.org, maybe with a port.
    host: String,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(in crate::cli) struct Change {
    /// The host.
    host: String,
    #[command(flatten)]
    fields: Fields,
    #[command(flatten)]
    cleared: Cleared,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(in crate::cli) struct Rm {
    /// The host.
    host: String,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
struct Fields {
    /// Where `/` leads.
    #[arg(long, value_name = "URL")]
    root_url: Option<String>,
    /// Where a code leads that no link has.
    #[arg(long, value_name = "URL")]
    not_found_url: Option<String>,
    /// Who may make links there: `all`, or e-mail addresses, separated by commas. A new host without it is for no account.
    #[arg(long, value_name = "ACCOUNTS", value_parser = NamedOwners::parse)]
    owners: Option<NamedOwners>,
    /// A file with Digital Asset Links, for apps of Android.
    #[arg(long, value_name = "FILE")]
    assetlinks: Option<PathBuf>,
    /// Apple's association file.
    #[arg(long, value_name = "FILE")]
    apple_app_site_association: Option<PathBuf>,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Cleared {
    /// `/` leads nowhere.
    #[arg(long, conflicts_with = "root_url")]
    no_root_url: bool,
    /// Unknown codes lead nowhere.
    #[arg(long, conflicts_with = "not_found_url")]
    no_not_found_url: bool,
    /// Take the file for Android away.
    #[arg(long, conflicts_with = "assetlinks")]
    no_assetlinks: bool,
    /// Take the file for Apple away.
    #[arg(long, conflicts_with = "apple_app_site_association")]
    no_apple_app_site_association: bool,
}

impl Fields {
    fn read(self, cleared: &Cleared) -> Result<DomainFields, Failure> {
        let field = |text, is_cleared| {
            if is_cleared {
                FieldEdit::Clear
            } else {
                FieldEdit::set_if(text)
            }
        };
        let file = |path: Option<PathBuf>| path.as_deref().map(text_of).transpose();
        Ok(DomainFields {
            root_url: field(self.root_url, cleared.no_root_url),
            not_found_url: field(self.not_found_url, cleared.no_not_found_url),
            assetlinks: field(file(self.assetlinks)?, cleared.no_assetlinks),
            apple_app_site_association: field(
                file(self.apple_app_site_association)?,
                cleared.no_apple_app_site_association,
            ),
            owners: self.owners,
        })
    }
}

impl Cleared {
    const NOTHING: Self = Self {
        no_root_url: false,
        no_not_found_url: false,
        no_assetlinks: false,
        no_apple_app_site_association: false,
    };
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
    match read {
        Ok(_) => Ok(text),
        Err(error) => {
            let why: &io::Error = &error;
            let path = path.display();
            Err(Failure::Usage(format!("{path}: {}", io_reason(why))))
        }
    }
}

pub(super) fn run(action: DomainAction) -> Result<(), Failure> {
    match action {
        DomainAction::List(List { text, config }) => on_database(config, async |abuse, _| {
            let text = text.as_deref().map(SearchText::parse).transpose()?;
            let mut wanted = newest(text.flatten());
            loop {
                let found = abuse.listed_domains(&wanted).await?;
                for listed in &found.entries {
                    print(&line(listed))?;
                }
                if found.next.is_none() {
                    return Ok(());
                }
                wanted.before = found.next;
            }
        }),
        DomainAction::Add(Add {
            host,
            fields,
            config,
        }) => {
            let fields = fields.read(&Cleared::NOTHING)?;
            let own = config.base_url.clone();
            on_database(config, async |abuse, by| {
                let host = DomainHost::parse(&host)?;
                if own
                    .as_ref()
                    .is_some_and(|own| own.own_host().is_named(&host))
                {
                    return Err(InvalidDomain::Own.into());
                }
                let edit = abuse.domain_edit(&host, fields).await?;
                abuse.add_domain(by, &host, &edit).await?;
                abuse.finish_domains().await;
                print(&format!("{host} is added"))
            })
        }
        DomainAction::Change(Change {
            host,
            fields,
            cleared,
            config,
        }) => {
            let fields = fields.read(&cleared)?;
            on_database(config, async |abuse, by| {
                let host = known(abuse, &host).await?;
                let edit = abuse.domain_edit(&host, fields).await?;
                abuse.edit_domain(by, &host, &edit).await?;
                abuse.finish_domains().await;
                print(&format!("{host} is changed"))
            })
        }
        DomainAction::Rm(Rm { host, config }) => on_database(config, async |abuse, by| {
            let host = known(abuse, &host).await?;
            abuse.remove_domain(by, &host).await?;
            abuse.finish_domains().await;
            print(&format!("{host} is removed"))
        }),
    }
}

/// The host as it was given when it was added.
async fn known(abuse: &Abuse, raw: &str) -> Result<DomainHost, Box<dyn Error>> {
    let host = DomainHost::parse(raw).map_err(|_| AbuseError::NoDomain)?;
    Ok(abuse.domain(&host).await?.host)
}

/// A host as a line of JSON.
fn line(listed: &ListedDomain) -> String {
    let domain = &listed.domain;
    let owners = match &domain.owners {
        None => json!("all"),
        Some(owners) => json!(owners),
    };
    json!({
        "host": domain.host.as_str(), "links": listed.links, "owners": owners,
        "root_url": domain.root.as_ref().map(TargetUrl::as_str),
        "not_found_url": domain.not_found.as_ref().map(TargetUrl::as_str),
        "created_at": domain.created_at.with_micros(),
    })
    .to_string()
}
