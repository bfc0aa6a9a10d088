//! Files that are made to harm `shunt import`: each is refused in a sentence that names the line, in little memory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::cli::support::{Finished, run, shunt};

/// Address space of the program in KiB. Without work to do it needs two thirds of it.
const MEMORY: &str = "150000";

/// Runs an import in bounded memory that changes nothing.
fn read(file: &Path, from: &str) -> Finished {
    let program = shunt();
    let mut bounded = Command::new("sh");
    bounded.env_clear();
    bounded.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", MEMORY]);
    bounded
        .arg(program.get_program())
        .args(["import", "--dry-run", "--from", from]);
    run(bounded.arg(file), "")
}

fn file(folder: &TempDir, content: &[u8]) -> PathBuf {
    let path = folder.path().join("file");
    fs::write(&path, content).unwrap();
    path
}

#[track_caller]
fn is_refused(content: &[u8], from: &str, words: &str) {
    let folder = tempfile::tempdir().unwrap();
    let refused = read(&file(&folder, content), from);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains(words), "{refused:?}");
}

#[test]
fn deep_json_is_refused() {
    is_refused(
        "[".repeat(1_000_000).as_bytes(),
        "shunt",
        "line 1: is nested too deeply",
    );
    let deep = format!("[\n{{\"tags\": {}", "[".repeat(1_000_000));
    is_refused(deep.as_bytes(), "kutt", "line 2: is nested too deeply");
}

#[test]
fn a_line_of_a_gigabyte_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (start, from, line) in [
        ("target_url\nhttps://", "csv", 2),
        ("[\n\n{\"target\": \"", "kutt", 3),
    ] {
        let path = file(&folder, start.as_bytes());
        // A sparse file takes no room on the disk; its bytes are 0.
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let refused = read(&path, from);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.err.starts_with(&format!("shunt: line {line}: is ")),
            "{refused:?}"
        );
    }
    let endless = format!("[{{\"target\": \"{}", "a".repeat(1_000_000));
    is_refused(endless.as_bytes(), "kutt", "line 1: is longer than 256 KiB");
}

#[test]
fn a_table_of_very_many_columns_is_refused() {
    is_refused(
        format!("target_url{}\n", ",a".repeat(5_000)).as_bytes(),
        "csv",
        "line 1: the header line has more than 1000 columns",
    );
    is_refused(
        ",".repeat(50_000_000).as_bytes(),
        "csv",
        "line 1: is longer than 256 KiB",
    );
    let row = format!("target_url\nhttps://example.org{}\n", ",x".repeat(9));
    is_refused(
        row.as_bytes(),
        "csv",
        "line 2: row: has 10 cells, but the header line has only 1",
    );
}

#[test]
fn a_row_that_is_no_text_is_refused() {
    is_refused(
        b"target_url,title\nhttps://example.org,caf\xe9\nhttps://example.org,caf\xc3\xa9\n",
        "csv",
        "line 2: title: `caf\u{fffd}` is not UTF-8",
    );
    is_refused(
        b"target_url,title\nhttps://example.org,\xff\xfe\n",
        "csv",
        "is not UTF-8",
    );
    is_refused(
        b"[\n{\"target\": \"caf\xe9 caf\xc3\xa9\"}]",
        "kutt",
        "line 2: is not valid JSON",
    );
}

#[test]
fn bytes_of_zero_are_refused() {
    is_refused(
        b"target_url\nhttps://example.org/\0\n",
        "csv",
        "line 2: target_url: `https://example.org/\\u{0}` has a NUL byte",
    );
    is_refused(b"\0\0\0\0", "csv", "line 1: the file is not text");
    is_refused(b"{\"target_url\":\0}", "shunt", "line 1: ");
    is_refused(
        b"{\"target_url\": \"https://example.org/\\u0000\"}",
        "shunt",
        "target_url: must not contain control characters",
    );
}

#[test]
fn an_empty_file_is_refused() {
    for content in [&b""[..], b"\n \n", b"\xef\xbb\xbf"] {
        is_refused(content, "csv", "line 1: the file is empty");
    }
}

#[test]
fn what_a_file_says_cannot_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for content in [
        "target_url,\u{1b}[31m\n",
        "target_url,title\nhttps://example.org,\u{1b}[31m\u{0}\n",
    ] {
        let refused = read(&file(&folder, content.as_bytes()), "csv");
        assert!(
            !refused.err.contains('\u{1b}') && refused.err.contains("\\u{1b}"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_long_file_is_read_in_the_memory_of_a_short_one() {
    const LINES: usize = 40_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.csv");
    let mut long = BufWriter::new(File::create(&path).unwrap());
    writeln!(long, "target_url,of_no_use").unwrap();
    let filler = "x".repeat(4_096);
    for line in 0..LINES {
        writeln!(long, "https://example.org/{line},{filler}").unwrap();
    }
    long.into_inner().unwrap();
    let kibibytes = fs::metadata(&path).unwrap().len() / 1024;
    assert!(kibibytes > MEMORY.parse().unwrap());
    let finished = read(&path, "shunt");
    assert_eq!(finished.succeeds(), format!("importable  {LINES} links\n"));
}
