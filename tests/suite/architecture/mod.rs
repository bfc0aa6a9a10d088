//! The architecture: a module imports from lower layers only, services know no HTTP, and no two files import each other
//! in a circle.

use std::fs;
use std::path::{Path, PathBuf};

mod imports;
mod tokens;

/// Layers as `src/lib.rs` lists them.
const LAYERS: [(&str, u8); 29] = [
    ("main", 9),
    ("cli", 9),
    ("server", 8),
    ("api", 7),
    ("compat", 7),
    ("web", 7),
    ("http", 6),
    ("redirect", 5),
    ("links", 5),
    ("events", 5),
    ("accounts", 5),
    ("statements", 5),
    ("abuse", 5),
    ("passwords", 4),
    ("clicks", 4),
    ("analytics", 3),
    ("limits", 3),
    ("mail", 3),
    ("cache", 3),
    ("store", 3),
    ("config", 2),
    ("shared_redis", 2),
    ("import", 2),
    ("oidc", 2),
    ("wire", 1),
    ("telemetry", 1),
    ("http_client", 0),
    ("qr", 0),
    ("domain", 0),
];

fn layer(module: &str) -> u8 {
    LAYERS
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("`{module}` has no layer"))
        .1
}

/// All Rust files below a folder.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
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

/// A file's text without its comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Each `NAME` of `crate::NAME`, in imports and elsewhere; `crate::{accounts, links}` names several.
fn modules_named(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for path in code.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            names.push(first_name(path));
            continue;
        };
        let mut depth = 0;
        names.push(first_name(group));
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => names.push(first_name(&group[at + 1..])),
                _ => {}
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn first_name(path: &str) -> &str {
    let path = path.trim_start();
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let end = path.find(|character| !is_of_name(character));
    &path[..end.unwrap_or(path.len())]
}

#[test]
fn modules_are_found_in_all_forms_of_imports() {
    for (code, names) in [
        ("use crate::links;", vec!["links"]),
        ("pub(crate) use crate::links::delete;", vec!["links"]),
        (
            "pub(in crate::cli) fn f(a: &crate::links::Api) {}",
            vec!["cli", "links"],
        ),
        ("use crate::{accounts, links};", vec!["accounts", "links"]),
        (
            "use crate::{\n    http::{ApiError, Found},\n    links,\n};",
            vec!["http", "links"],
        ),
    ] {
        assert_eq!(modules_named(code), names, "{code}");
    }
}

#[test]
fn a_module_imports_from_lower_layers_only() {
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
        for name in modules_named(&code(&path)) {
            if name != module && layer(name) >= layer(module) {
                wrong.push(format!("{}: {module} imports {name}", within.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Files outside the server that spawn a thread or a task: each of these ends with the one thing that it does.
const SHORT_LIVED: [(&str, &str); 17] = [
    ("cli/client/import/bulk.rs", "some requests of a command"),
    (
        "cli/client/output_file.rs",
        "one pipe is opened, once a program reads it",
    ),
    (
        "clicks/before_limit.rs",
        "one counting of clicks, or one question to the database",
    ),
    ("clicks/delivery.rs", "one attempt at redelivery"),
    (
        "clicks/redelivery.rs",
        "one parked batch is removed from the database",
    ),
    ("clicks/sinks.rs", "one call to the database"),
    (
        "events/hooks/sender.rs",
        "a connection is used, and ends with it",
    ),
    (
        "events/hooks/worker.rs",
        "a hook is worked off, in a set of the server's",
    ),
    (
        "links/by_clicks/orders.rs",
        "the links of one owner are read and put in order",
    ),
    ("links/creations.rs", "links are made by one statement"),
    ("oidc/requests.rs", "one request to the identity provider"),
    ("passwords/mod.rs", "a thread hashes one password"),
    ("redirect/lookups.rs", "one look-up in the database"),
    (
        "redirect/pools.rs",
        "targets are taken until no visitor waits",
    ),
    ("shared_redis/connection.rs", "one connection is made"),
    (
        "telemetry/log_writer.rs",
        "lines of one log are written, until it ends",
    ),
    ("web/error_pages.rs", "one question to the database"),
];

#[test]
fn only_the_server_spawns_tasks_that_live_as_long_as_the_service() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut spawning = Vec::new();
    for path in sources(&root) {
        let within = path.strip_prefix(&root).unwrap();
        // Tests may spawn tasks.
        if within.ends_with("tests.rs") {
            continue;
        }
        let code = code(&path);
        let code = code.split("#[cfg(test)]\nmod tests").next().unwrap();
        let spawns = [".spawn(", "::spawn(", "spawn_blocking("];
        if !within.starts_with("server") && spawns.iter().any(|call| code.contains(call)) {
            spawning.push(within.to_str().unwrap().to_owned());
        }
    }
    spawning.sort();
    assert_eq!(spawning, SHORT_LIVED.map(|(file, _)| file));
}

/// Names of HTTP's frameworks, status codes and errors: services and what is below them know none of these.
const HTTP_NAMES: [&str; 6] = [
    "ApiError",
    "IntoResponse",
    "StatusCode",
    "axum",
    "hyper",
    "tower",
];

#[test]
fn services_know_no_http() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let modules = [
        "abuse",
        "accounts",
        "cache",
        "clicks",
        "domain",
        "import",
        "limits",
        "links",
        "qr",
        "redirect",
        "shared_redis",
        "statements",
        "store",
        "wire",
    ];
    let mut wrong = Vec::new();
    for path in modules
        .iter()
        .flat_map(|module| sources(&root.join(module)))
    {
        let code = code(&path);
        for name in HTTP_NAMES.iter().filter(|name| code.contains(**name)) {
            wrong.push(format!("{}: {name}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn errors_become_responses_in_http_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let elsewhere: Vec<_> = sources(&root)
        .into_iter()
        .filter(|path| !path.starts_with(root.join("http")))
        .filter(|path| code(path).contains("IntoResponse for "))
        .collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}
