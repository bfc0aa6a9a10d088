//! The house: a module imports from lower floors only.

use std::fs;
use std::path::{Path, PathBuf};

/// Floors as `src/lib.rs` tells them.
const FLOORS: [(&str, u8); 17] = [
    ("main", 9),
    ("cli", 9),
    ("server", 8),
    ("redirect", 7),
    ("links", 7),
    ("accounts", 6),
    ("http", 5),
    ("clicks", 4),
    ("limits", 4),
    ("cache", 3),
    ("store", 3),
    ("config", 2),
    ("shared", 2),
    ("keyspace", 1),
    ("telemetry", 1),
    ("outgoing", 0),
    ("domain", 0),
];

fn floor(module: &str) -> u8 {
    FLOORS
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("`{module}` stands on no floor"))
        .1
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn modules_import_from_lower_floors_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let within = path.strip_prefix(&root).unwrap();
        let module = within
            .iter()
            .next()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line = line.trim_start();
            let Some(import) = line
                .strip_prefix("use crate::")
                .or_else(|| line.strip_prefix("pub use crate::"))
            else {
                continue;
            };
            let imported = import.split([':', ';', '{']).next().unwrap();
            // `use crate::{accounts, links}` names several.
            let names = if imported.is_empty() {
                import.trim_matches(['{', '}', ';'])
            } else {
                imported
            };
            for name in names
                .split(',')
                .map(|name| name.trim().split(':').next().unwrap())
            {
                if name != module && floor(name) >= floor(module) {
                    wrong.push(format!("{}: {module} imports {name}", within.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_the_server_spawns_tasks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&root) {
        let within = path.strip_prefix(&root).unwrap();
        let spawns = fs::read_to_string(&path).unwrap().contains("tokio::spawn(");
        assert!(
            !spawns || within.starts_with("server"),
            "{} spawns",
            within.display()
        );
    }
}
