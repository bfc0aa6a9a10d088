//! Files that commands write: what is at their path stays what it is.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

use crate::cli::support::{Finished, Person, Service, run, shunt};

const TARGET: &str = "https://example.org/a";

/// A person with a link, and a folder to write to.
struct Writer {
    service: Service,
    ada: Person,
    short_url: String,
    folder: TempDir,
}

impl Writer {
    fn new() -> Self {
        let service = Service::start();
        let ada = Person::registered(&service, "ada@example.org");
        let short_url = ada.runs(&["shorten", TARGET]).line();
        let folder = tempfile::tempdir().unwrap();
        Self {
            service,
            ada,
            short_url,
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    fn exports_to(&self, path: &Path) -> Finished {
        self.ada
            .runs(&["export", "--timeout", "5", "-o", path.to_str().unwrap()])
    }

    fn draws_to(&self, path: &Path) -> Finished {
        let path = path.to_str().unwrap();
        self.ada
            .runs(&["qr", &self.short_url, "--format", "svg", "-o", path])
    }

    /// Runs both commands with `-o`, and has each checked with the beginning of what it writes.
    #[track_caller]
    fn write_to(&self, path: &Path, check: impl Fn(Finished, &str)) {
        check(self.exports_to(path), "id,short_code");
        check(self.draws_to(path), "<svg");
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// Reads a pipe to its end.
fn reader(pipe: &Path) -> JoinHandle<String> {
    let mut file = pipe.to_owned();
    thread::spawn(move || {
        let mut text = String::new();
        let mut opened = File::open(std::mem::take(&mut file)).unwrap();
        opened.read_to_string(&mut text).unwrap();
        text
    })
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let writer = Writer::new();
    for kept in [0o600, 0o640, 0o666] {
        let path = writer.file("kept", kept);
        writer.write_to(&path, |finished, start| {
            finished.succeeds();
            assert!(read(&path).starts_with(start), "{}", read(&path));
            assert_eq!(mode(&path), kept, "{kept:o}");
        });
    }
    assert_eq!(writer.names(), ["kept"]);
}

#[test]
fn a_new_file_has_the_mode_that_the_umask_allows() {
    let writer = Writer::new();
    let path = writer.path("new.csv");
    let line = format!(
        "umask 027; exec {} export -o {}",
        env!("CARGO_BIN_EXE_shunt"),
        path.display()
    );
    let home = writer.ada.token_file();
    let home = home.ancestors().nth(3).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).env("HOME", home);
    run(shell.env("SHUNT_URL", &writer.service.base), "").succeeds();
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_link_is_written_through() {
    let writer = Writer::new();
    let kept = writer.file("kept", 0o600);
    symlink("kept", writer.path("first")).unwrap();
    symlink(writer.path("first"), writer.path("second")).unwrap();
    writer.write_to(&writer.path("second"), |finished, start| {
        finished.succeeds();
        assert!(read(&kept).starts_with(start));
        assert_eq!(mode(&kept), 0o600);
    });
    for link in ["first", "second"] {
        let found = fs::symlink_metadata(writer.path(link)).unwrap();
        assert!(found.is_symlink(), "{link}");
    }
    assert_eq!(writer.names(), ["first", "kept", "second"]);
}

#[test]
fn a_file_is_made_behind_a_link_that_leads_nowhere_yet() {
    let writer = Writer::new();
    symlink("later", writer.path("link")).unwrap();
    writer.write_to(&writer.path("link"), |finished, start| {
        finished.succeeds();
        assert!(read(&writer.path("later")).starts_with(start));
    });
    assert_eq!(writer.names(), ["later", "link"]);
}

#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    let writer = Writer::new();
    let pipe = writer.pipe("pipe");
    symlink("pipe", writer.path("link")).unwrap();
    for path in [&pipe, &writer.path("link")] {
        let text = reader(&pipe);
        writer.exports_to(path).succeeds();
        assert!(text.join().unwrap().starts_with("id,short_code"));
        let text = reader(&pipe);
        writer.draws_to(path).succeeds();
        assert!(text.join().unwrap().starts_with("<svg"));
    }
    let found = fs::symlink_metadata(&pipe).unwrap();
    assert!(found.file_type().is_fifo());
    assert_eq!(writer.names(), ["link", "pipe"]);
}

#[test]
fn a_pipe_that_no_program_reads_is_given_up() {
    let writer = Writer::new();
    let pipe = writer.pipe("pipe");
    let path = pipe.to_str().unwrap();
    writer
        .ada
        .runs(&["export", "--timeout", "1", "-o", path])
        .fails(1, "no program has opened");
    assert_eq!(writer.names(), ["pipe"]);
}

#[test]
fn a_device_is_written_to_and_stays_a_device() {
    let writer = Writer::new();
    let before = fs::metadata("/dev/null").unwrap();
    writer.write_to(Path::new("/dev/null"), |finished, _| {
        finished.succeeds();
    });
    let after = fs::metadata("/dev/null").unwrap();
    assert!(after.file_type().is_char_device());
    assert_eq!((before.ino(), before.mode()), (after.ino(), after.mode()));
    writer.write_to(Path::new("/dev/full"), |finished, _| {
        finished.fails(1, "the output cannot be written");
    });
}

#[test]
fn a_folder_and_a_socket_are_refused_and_stay() {
    let writer = Writer::new();
    let _socket = std::os::unix::net::UnixListener::bind(writer.path("socket")).unwrap();
    fs::create_dir(writer.path("folder")).unwrap();
    writer.write_to(&writer.path("socket"), |finished, _| {
        finished.fails(1, "is not a regular file; name another file");
    });
    writer.write_to(&writer.path("folder"), |finished, _| {
        finished.fails(1, "is a folder; name a file in it");
    });
    assert_eq!(writer.names(), ["folder", "socket"]);
}

#[test]
fn a_dash_is_standard_output() {
    let writer = Writer::new();
    let export = writer.exports_to(Path::new("-")).succeeds();
    assert!(export.starts_with("id,short_code"), "{export}");
    let drawn = writer.ada.runs(&["qr", &writer.short_url, "-o", "-"]);
    assert!(drawn.succeeds().starts_with("<svg"));
    writer
        .ada
        .runs(&["qr", &writer.short_url, "-o", "-", "--json"])
        .fails(2, "--json and -o - both print to standard output");
    assert!(!Path::new("-").exists());
}

#[test]
fn another_name_of_standard_output_replaces_nothing_that_is_there() {
    let writer = Writer::new();
    let path = writer.file("all", 0o644);
    let mut command = writer.ada.command(&["export", "-o", "/dev/stdout"]);
    let all = File::options().append(true).open(&path).unwrap();
    let status = command.stdin(Stdio::null()).stdout(all).status().unwrap();
    assert!(status.success());
    assert!(read(&path).starts_with("beforeid,short_code"));
}

#[test]
fn a_file_stays_as_it_was_if_there_is_nothing_to_write() {
    let writer = Writer::new();
    let path = writer.file("kept", 0o600);
    let nobody = Person::of(&writer.service);
    let name = path.to_str().unwrap();
    nobody
        .runs(&["export", "-o", name])
        .fails(3, "not logged in");
    nobody
        .runs(&["qr", "absent", "--format", "png", "-o", name])
        .fails(4, "URL not found");
    assert_eq!(read(&path), "before");
    assert_eq!(writer.names(), ["kept"]);
}

#[test]
fn no_other_file_is_touched_beside_one_that_is_written() {
    let writer = Writer::new();
    let path = writer.path("out.csv");
    let beside = writer.file("out.csv.unfinished", 0o644);
    writer.exports_to(&path).succeeds();
    assert_eq!(read(&beside), "before");
}

#[test]
fn the_tokens_are_kept_behind_a_link_for_their_owner_only() {
    let writer = Writer::new();
    let file = writer.ada.token_file();
    let kept = writer.path("tokens");
    fs::rename(&file, &kept).unwrap();
    fs::set_permissions(&kept, Permissions::from_mode(0o644)).unwrap();
    symlink(&kept, &file).unwrap();
    writer
        .ada
        .runs_with_input(&["login", "ada@example.org"], crate::cli::support::PASSWORD)
        .succeeds();
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(mode(&kept), 0o600);
    writer.ada.runs(&["whoami"]).line();
}

#[test]
fn a_list_of_tokens_that_is_no_file_is_neither_read_nor_replaced() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let file = ada.token_file();
    fs::remove_file(&file).unwrap();
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    for line in [&["whoami"][..], &["login", "ada@example.org"], &["logout"]] {
        ada.runs_with_input(line, crate::cli::support::PASSWORD)
            .fails(1, "is not a regular file");
    }
    let found = fs::symlink_metadata(&file).unwrap();
    assert!(found.file_type().is_fifo());
}

#[test]
fn the_lists_of_an_import_are_written_through_links_and_keep_their_mode() {
    let writer = Writer::new();
    let source = writer.path("links.csv");
    fs::write(&source, "target_url\nhttps://example.org/b\nno address\n").unwrap();
    let kept = writer.file("kept", 0o600);
    symlink("kept", writer.path("links.csv.refused.csv")).unwrap();
    let import = |more: &[&str]| {
        let line = ["import", source.to_str().unwrap(), "--from", "shunt"];
        writer.ada.runs(&[&line, more].concat())
    };
    assert_eq!(import(&[]).code, 1);
    assert!(read(&kept).starts_with("line,reason"), "{}", read(&kept));
    assert_eq!(mode(&kept), 0o600);
    for (refused, words) in [
        ("/dev/null", "is not a regular file"),
        ("-", "--refused must be a file"),
        (source.to_str().unwrap(), "is the file that is imported"),
    ] {
        let refusal = import(&["--refused", refused]);
        assert!(refusal.err.contains(words), "{refusal:?}");
    }
    assert!(
        fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    assert!(read(&source).starts_with("target_url"));
}

#[test]
fn the_state_of_an_import_is_an_ordinary_file_or_refused() {
    let writer = Writer::new();
    let source = writer.path("links.csv");
    fs::write(&source, "target_url\nhttps://example.org/b\n").unwrap();
    let pipe = writer.pipe("links.csv.shunt-import.json");
    let line = ["import", source.to_str().unwrap(), "--from", "shunt"];
    let refusal = writer.ada.runs(&line);
    assert_eq!(refusal.code, 1);
    assert!(refusal.err.contains("is not a regular file"), "{refusal:?}");
    let found = fs::symlink_metadata(&pipe).unwrap();
    assert!(found.file_type().is_fifo());
}

#[test]
fn a_database_that_is_no_ordinary_file_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("shunt.db");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for file in [&pipe, Path::new("/dev/null")] {
        let mut serve = shunt();
        serve.env("DATABASE_URL", format!("sqlite://{}", file.display()));
        let refused = run(serve.env("BIND", "127.0.0.1:0"), "");
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("is not a regular file"), "{refused:?}");
    }
}
