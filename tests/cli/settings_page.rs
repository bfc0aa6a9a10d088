//! `deploy/settings.md` describes the settings as the program itself does.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::{Arg, Args, Command};
use shunt::config::Config;

const HEAD: &str = "\
# Settings

<!-- Made from src/config/ by `UPDATE=1 cargo test --test all settings_page`; a test compares. -->

A setting is given as a flag or in the environment. The flag wins. An empty variable counts as not given, except
`DATABASE_URL`, which is refused then. A wrong setting stops the start with a line that names it, and exit code 1.
`shunt config` prints the settings in force and where each comes from, without secrets.

[scaling.md](scaling.md) says more about replicas and Redis Cluster.

| variable | flag | default | meaning |
| --- | --- | --- | --- |
";

#[test]
fn the_page_of_settings_is_what_the_program_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/settings.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|kept| kept == page),
        "deploy/settings.md is out of date: run `UPDATE=1 cargo test --test all settings_page` and commit what it writes"
    );
}

fn page() -> String {
    let described = Config::augment_args(Command::new("settings"));
    described
        .get_arguments()
        .fold(HEAD.to_owned(), |mut page, arg| {
            let (meaning, default) = meaning_and_default(arg);
            let meaning = meaning.trim_end_matches('.');
            let variable = arg.get_env().unwrap().to_str().unwrap();
            let flag = arg.get_long().unwrap();
            writeln!(
                page,
                "| `{variable}` | `--{flag}` | {default} | {meaning}. |"
            )
            .unwrap();
            page
        })
}

/// A default that is known at start only stands in the text, as `[default: …]`.
fn meaning_and_default(arg: &Arg) -> (String, String) {
    let text = arg.get_long_help().or(arg.get_help()).unwrap().to_string();
    let text = text.replace("\n\n", " ").replace('|', "\\|");
    if let Some((meaning, rest)) = text.split_once(" [default: ") {
        let (default, rest) = rest.split_once(']').unwrap();
        return (format!("{meaning}{rest}"), default.to_owned());
    }
    let default = arg.get_default_values()[0].to_str().unwrap();
    let default = if default.is_empty() {
        String::new()
    } else {
        format!("`{default}`")
    };
    (text, default)
}
