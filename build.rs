//! Finds the revision that is built: `SHUNT_REVISION`, or what `.git` says in a build with optimisations. Other builds would
//! compile everything again after each commit. Also unpacks Swagger UI.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

// A test includes this file for the revision, without the crates of a build script.
#[cfg(not(test))]
#[path = "src/api/explorer/unpack.rs"]
mod unpack;

#[cfg(not(test))]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/api/explorer/unpack.rs");
    unpack::swagger_ui();
    name_revision();
}

fn name_revision() {
    println!("cargo:rerun-if-env-changed=SHUNT_REVISION");
    let given = env::var("SHUNT_REVISION").ok();
    let is_optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let found = given.filter(|revision| !revision.is_empty()).or_else(|| {
        let found = is_optimised.then(|| revision(Path::new("."))).flatten()?;
        for file in found.read_from {
            println!("cargo:rerun-if-changed={}", file.display());
        }
        Some(found.revision)
    });
    let revision = found.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=SHUNT_REVISION={revision}");
}

/// A revision, and the files that say so.
pub(crate) struct Found {
    pub(crate) revision: String,
    read_from: Vec<PathBuf>,
}

/// The commit that is checked out in this folder, in twelve digits; `None` without a `.git` that can be read.
pub(crate) fn revision(folder: &Path) -> Option<Found> {
    let mut git = folder.join(".git");
    // In a work tree of its own, `.git` is a file that names the folder.
    if let Ok(text) = fs::read_to_string(&git) {
        git = folder.join(text.strip_prefix("gitdir: ")?.trim());
    }
    let common = match fs::read_to_string(git.join("commondir")) {
        Ok(text) => git.join(text.trim()),
        Err(_) => git.clone(),
    };
    let head_file = git.join("HEAD");
    let head = fs::read_to_string(&head_file).ok()?;
    let mut read_from = vec![head_file];
    let commit = match head.trim().strip_prefix("ref: ") {
        None => head.trim().to_owned(),
        Some(name) => {
            let (loose, packed) = (common.join(name), common.join("packed-refs"));
            if let Ok(commit) = fs::read_to_string(&loose) {
                read_from.push(loose);
                commit.trim().to_owned()
            } else {
                let refs = fs::read_to_string(&packed).ok()?;
                read_from.push(packed);
                let of_name = |line: &str| Some(line.strip_suffix(name)?.trim().to_owned());
                refs.lines().find_map(of_name)?
            }
        }
    };
    let is_commit = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| Found {
        revision: commit[..12].to_owned(),
        read_from,
    })
}
