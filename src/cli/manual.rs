//! `shunt completions` and `shunt man`, from the description of the command line.

use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;

use super::Failure;

/// Prints the completions for a shell.
pub(super) fn completions(mut shunt: Command, shell: Shell) -> Result<(), Failure> {
    // Into memory first: the generator panics if its output cannot be written.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shunt, "shunt", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(())
}

/// Prints the manual page of `shunt`, or of one of its commands.
pub(super) fn page(mut shunt: Command, command: &[String]) -> Result<(), Failure> {
    // Gives sub-commands their full names, such as `shunt-list`.
    shunt.build();
    let mut described = &shunt;
    for name in command {
        described = described.find_subcommand(name).ok_or_else(|| {
            let name = command.join(" ");
            Failure::Usage(format!("there is no command `{name}`; see `shunt help`"))
        })?;
    }
    let described = described.clone();
    let mut page = Vec::new();
    clap_mangen::Man::new(described)
        .manual("shunt")
        .render(&mut page)?;
    io::stdout().lock().write_all(&page)?;
    Ok(())
}
