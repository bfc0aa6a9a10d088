//! No two files import each other in a circle.
//!
//! A path in a file (`crate::…`, `super::…`, `self::…`, or one that begins with a child module or an imported module) leads
//! to the file that defines the name. A re-export leads on to the file behind it, and is an import of its own file only if
//! that file uses the name, too. Test code is left out.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fs;
use std::path::Path;

use super::sources;
use super::tokens::{end_of_group, end_of_item, leading_path, names_of_use, tokens};

/// A module's place among all modules: its crate, its parents, itself.
type Place<'a> = Vec<&'a str>;

/// What a file says of one of its modules.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    imports: Vec<Import<'a>>,
    /// Paths in the code, apart from `use`.
    paths: Vec<Vec<&'a str>>,
    /// Names in the code, apart from `use`.
    names: HashSet<&'a str>,
}

/// One name of a `use`.
struct Import<'a> {
    path: Vec<&'a str>,
    /// The name in this file; `*` for everything.
    name: &'a str,
    is_public: bool,
}

/// Where a path leads.
enum Target<'a> {
    Module(Place<'a>),
    /// Something that this file defines.
    Item(&'a str),
}

/// All modules of the library, and of the program that uses it.
struct Modules<'a> {
    files: &'a BTreeMap<String, String>,
    all: BTreeMap<Place<'a>, Module<'a>>,
}

impl<'a> Modules<'a> {
    fn read(files: &'a BTreeMap<String, String>) -> Self {
        let all = BTreeMap::new();
        let mut modules = Self { files, all };
        for (file, name) in [("lib.rs", "shunt"), ("main.rs", "main")] {
            if let Some(text) = files.get(file) {
                modules.add(vec![name], file, &tokens(text));
            }
        }
        modules
    }

    /// Reads a module, and the modules that it declares.
    fn add(&mut self, place: Place<'a>, file: &'a str, code: &[&'a str]) {
        let mut module = Module {
            file,
            ..Module::default()
        };
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            at += match *rest {
                ["#", "[", "cfg", "(", "test", ")", "]", ..] => end_of_item(rest),
                ["pub", "(", "crate" | "super" | "self" | "in", ..] => 1 + end_of_group(&rest[1..]),
                ["mod", name, ";", ..] => {
                    self.add_file(&place, file, name);
                    3
                }
                ["mod", name, "{", ..] => {
                    let end = 2 + end_of_group(&rest[2..]);
                    self.add([&place[..], &[name]].concat(), file, &rest[3..end - 1]);
                    end
                }
                // Not `impl Trait + use<>`.
                ["use", next, ..] if next != "<" => {
                    let end = rest.iter().position(|token| *token == ";").unwrap();
                    let is_public = at > 0 && ["pub", ")"].contains(&code[at - 1]);
                    for (path, name) in names_of_use(&rest[1..end], &[]) {
                        module.imports.push(Import {
                            path,
                            name,
                            is_public,
                        });
                    }
                    end
                }
                _ => {
                    module.names.insert(rest[0]);
                    let path = leading_path(rest);
                    let is_start = at == 0 || code[at - 1] != "::";
                    if is_start && path.len() > 1 {
                        module.paths.push(path);
                    }
                    1
                }
            };
        }
        self.all.insert(place, module);
    }

    /// Reads the file of a module that another file declares.
    fn add_file(&mut self, parent: &[&'a str], declared_in: &str, name: &'a str) {
        let folder = match declared_in.strip_suffix("mod.rs") {
            Some(folder) => folder.to_owned(),
            None if parent.len() == 1 => String::new(),
            None => format!("{}/", declared_in.trim_end_matches(".rs")),
        };
        let candidates = [
            format!("{folder}{name}.rs"),
            format!("{folder}{name}/mod.rs"),
        ];
        let file = candidates
            .iter()
            .find_map(|file| self.files.get_key_value(file));
        let (file, text) = file.unwrap_or_else(|| panic!("{declared_in}: no file of `mod {name}`"));
        self.add([parent, &[name]].concat(), file, &tokens(text));
    }

    /// Where a path in a module leads; `None` for other crates, and for names that the file itself defines or imports.
    fn resolve(&self, module: &[&'a str], path: &[&'a str]) -> Option<Target<'a>> {
        let mut place = match path[0] {
            "crate" => vec![module[0]],
            "shunt" => vec!["shunt"],
            "self" => module.to_vec(),
            "super" => module[..module.len() - 1].to_vec(),
            first => self.module_called(module, first)?,
        };
        for name in &path[1..] {
            if *name == "super" {
                place.pop();
                continue;
            }
            let parent = &self.all[&place];
            let inner = [&place[..], &[*name]].concat();
            if self.all.contains_key(&inner) {
                place = inner;
                continue;
            }
            let imported = parent.imports.iter().find(|import| import.name == *name);
            match imported.and_then(|import| self.resolve(&place, &import.path)) {
                Some(Target::Module(behind)) => place = behind,
                Some(item) => return Some(item),
                None => return Some(Target::Item(parent.file)),
            }
        }
        Some(Target::Module(place))
    }

    /// The child or the import of a module that has this name and is a module itself.
    fn module_called(&self, module: &[&'a str], name: &'a str) -> Option<Place<'a>> {
        let child = [module, &[name]].concat();
        if self.all.contains_key(&child) {
            return Some(child);
        }
        // `use tokio;` and the like would lead to themselves.
        let is_this = |import: &&Import<'a>| import.name == name && import.path[0] != name;
        let import = self.all[module].imports.iter().find(is_this)?;
        match self.resolve(module, &import.path)? {
            Target::Module(place) => Some(place),
            Target::Item(_) => None,
        }
    }

    /// For each file the files that it imports from.
    fn imports(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut all = BTreeMap::<_, BTreeSet<_>>::new();
        for (place, module) in &self.all {
            let imported = all.entry(module.file).or_default();
            for import in &module.imports {
                let is_needed = !import.is_public || module.names.contains(import.name);
                match self.resolve(place, &import.path) {
                    Some(Target::Item(file)) if is_needed => imported.insert(file),
                    Some(Target::Module(behind)) if import.name == "*" => {
                        imported.insert(self.all[&behind].file)
                    }
                    // A module that is imported leads on where it is used.
                    _ => false,
                };
            }
            for path in &module.paths {
                if let Some(Target::Item(file)) = self.resolve(place, path) {
                    imported.insert(file);
                }
            }
            imported.remove(module.file);
        }
        all
    }
}

/// The shortest circle through each file, each circle once.
fn circles(files: &BTreeMap<String, String>) -> BTreeSet<Vec<&str>> {
    let imports = Modules::read(files).imports();
    let shortest_circle = |start: &str| {
        let start = *imports.get_key_value(start)?.0;
        let mut queue = VecDeque::from([vec![start]]);
        let mut seen = HashSet::new();
        while let Some(way) = queue.pop_front() {
            for next in &imports[way[way.len() - 1]] {
                if *next == start {
                    return Some(way);
                }
                if seen.insert(next) {
                    queue.push_back([&way[..], &[next]].concat());
                }
            }
        }
        None
    };
    let mut circles = BTreeSet::new();
    for file in imports.keys() {
        if let Some(mut circle) = shortest_circle(file) {
            let first = (0..circle.len()).min_by_key(|at| circle[*at]);
            circle.rotate_left(first.unwrap_or(0));
            circles.insert(circle);
        }
    }
    circles
}

#[test]
fn no_two_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let name = |path: &Path| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let read = |path: &Path| (name(path), fs::read_to_string(path).unwrap());
    let files = sources(&root).iter().map(|path| read(path)).collect();
    let found: Vec<_> = circles(&files)
        .into_iter()
        .map(|circle| format!("{} -> {}", circle.join(" -> "), circle[0]))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Files of a made-up program.
fn made_up(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
    files.iter().map(owned).collect()
}

const LIB: (&str, &str) = ("lib.rs", "pub mod cache;\npub mod links;");

#[test]
fn a_circle_is_found_however_a_name_is_written() {
    for text in [
        "use crate::links::Link;",
        "use crate::{links::{self as other, Link}};",
        "use super::links::Link;",
        "use crate::links; fn f() -> links::Link {}",
        "use crate::links::link; fn f() -> link::Link {}",
        "fn f() -> crate::links::link::Link {}",
        "fn f() { macro_call!(self::super::links::Link::new()) }",
        "mod inner { use super::super::links::Link; }",
    ] {
        let files = made_up(&[
            LIB,
            ("cache.rs", &format!("{text} pub struct Cache;")),
            ("links/mod.rs", "pub mod link; pub use link::Link;"),
            ("links/link.rs", "use crate::cache::Cache; pub struct Link;"),
        ]);
        let expected = BTreeSet::from([vec!["cache.rs", "links/link.rs"]]);
        assert_eq!(circles(&files), expected, "{text}");
    }
}

#[test]
fn a_circle_of_three_is_found_once() {
    let files = made_up(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
        ("d.rs", "use crate::a::A;"),
    ]);
    assert_eq!(
        circles(&files),
        BTreeSet::from([vec!["a.rs", "b.rs", "c.rs"]])
    );
}

#[test]
fn what_is_no_import_closes_no_circle() {
    for text in [
        "// use crate::links::Link;",
        "/// See [`crate::links::Link`].",
        "const TEXT: &str = \"\\\" crate::links::Link\";",
        "const TEXT: &str = r#\"\" crate::links::Link\"#;",
        "#[cfg(test)] mod tests { use crate::links::Link; }",
        "#[cfg(test)] mod tests;",
        "#[cfg(test)] use crate::links::Link;",
        "pub(in crate::links) struct Link;",
        "fn f<'a>(x: &'a str) -> char { '\"' }",
        "use crate::links;",
        "use links::Link;",
    ] {
        let files = made_up(&[
            LIB,
            ("cache.rs", &format!("{text} pub struct Cache;")),
            ("links/mod.rs", "pub mod link; pub use link::Link;"),
            ("links/link.rs", "use crate::cache::Cache; pub struct Link;"),
        ]);
        assert_eq!(circles(&files), BTreeSet::new(), "{text}");
    }
}

#[test]
fn a_re_export_is_an_import_only_where_its_file_uses_the_name() {
    for (text, count) in [
        ("pub struct Service;", 0),
        ("pub struct Service { page: Page }", 1),
    ] {
        let files = made_up(&[
            ("lib.rs", "mod links;"),
            (
                "links/mod.rs",
                &format!("mod list; pub use list::Page; {text}"),
            ),
            ("links/list.rs", "use super::Service; pub struct Page;"),
        ]);
        assert_eq!(circles(&files).len(), count, "{text}");
    }
}
