//! The README's steps of a service in production, as they are pasted.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::cli::support::eventually;

/// The block of commands below the heading.
fn steps() -> String {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let (_, section) = readme.split_once("\n## In production\n").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// A folder of programs: `shunt` itself, and those that change the machine, which do nothing.
fn programs(folder: &Path) {
    symlink(env!("CARGO_BIN_EXE_shunt"), folder.join("shunt")).unwrap();
    for name in ["sudo", "cargo"] {
        let path = folder.join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Pastes the steps; the databases alone are others.
fn paste(home: &Path, database: &str, log: &Path) -> Child {
    let steps = steps();
    let (before, rest) = steps.split_once("DATABASE_URL=\"").unwrap();
    let (address, rest) = rest.split_once("\" ").unwrap();
    assert!(address.starts_with("postgres:///"), "{address}");
    let steps = format!("{before}DATABASE_URL='{database}' {rest}")
        .replace("REDIS_URL=redis://localhost", "")
        .replace("127.0.0.1:8000", "127.0.0.1:0")
        .replace("127.0.0.1:9464", "127.0.0.1:0")
        .replace("shunt migrate && shunt\n", "shunt migrate && exec shunt\n");
    let path = format!("{}:/usr/bin:/bin", home.join("bin").display());
    Command::new("bash")
        .args(["-e", "-c", &steps])
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(fs::File::create(log).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn the_steps_of_production_can_be_pasted_and_keep_one_secret() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("bin")).unwrap();
    programs(&home.path().join("bin"));
    let database = format!("sqlite://{}/shunt.db", home.path().display());
    let secret = home.path().join(".config/shunt/jwt-secret");
    let log = home.path().join("log");
    let mut secrets = Vec::new();
    for _ in 0..2 {
        let mut service = paste(home.path(), &database, &log);
        eventually(Duration::from_mins(1), || {
            fs::read_to_string(&log).unwrap().contains("listening on")
        });
        service.kill().unwrap();
        service.wait().unwrap();
        secrets.push(fs::read_to_string(&secret).unwrap());
    }
    assert_eq!(secrets[0], secrets[1]);
    assert_eq!(secrets[0].trim_end().len(), 64);
    let mode = fs::metadata(&secret).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}
