//! What the commands of `shunt admin` share.

use std::error::Error;
use std::io::{self, Write, stdout};

use shunt::abuse::{Abuse, Administrator};
use shunt::config::Config;
use shunt::domain::{NewestWanted, SearchText};
use shunt::server;

use crate::cli::{Failure, service};

/// Most entries that are printed.
const MAX_ENTRIES: u32 = 1_000;

/// The newest entries of a list, with this text.
pub(super) fn newest(text: Option<SearchText>) -> NewestWanted {
    NewestWanted {
        text,
        limit: MAX_ENTRIES,
        ..NewestWanted::default()
    }
}

pub(super) fn on_database(
    config: Config,
    work: impl AsyncFnOnce(&Abuse, &Administrator) -> Result<(), Box<dyn Error>>,
) -> Result<(), Failure> {
    service::start(config, async |config, _| {
        let abuse = server::administration(&config).await?;
        let done = work(&abuse, &Administrator::operator()).await;
        abuse.close().await?;
        done
    })
}

pub(super) fn print(line: &str) -> Result<(), Box<dyn Error>> {
    let written: io::Result<()> = writeln!(stdout(), "{line}");
    Ok(written?)
}
