//! Files of links: they read alike however their bytes come, and what was read can be written and read again.

use std::io::{Cursor, Read};
use std::ops::ControlFlow;

use clap::ValueEnum as _;
use crate::domain::FieldEdit;
use crate::import::{
    Encoding, ImportedLink, ReadLink, Source, TakesLinks, columns, guarded, read_file,
};


#[derive(Default)]
struct Taker(Vec<ReadLink>);

impl TakesLinks for Taker {
    fn take(&mut self, link: ReadLink) -> ControlFlow<()> {
        self.0.push(link);
        ControlFlow::Continue(())
    }
}

/// A file whose bytes come in small parts.
struct InParts<'a>(&'a [u8], usize);

impl Read for InParts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(buffer.len()).min(self.0.len());
        buffer[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

type Seen = (u64, Result<ImportedLink, String>);

/// The links, what is wrong with each, and where the file cannot be read on.
fn read(source: Source, file: impl Read, encoding: Encoding) -> (Vec<ReadLink>, Option<String>) {
    let mut taker = Taker::default();
    let read = read_file(file, encoding, source.format(), &mut taker);
    (taker.0, read.err().map(|error| error.to_string()))
}

fn seen(links: &[ReadLink]) -> Vec<Seen> {
    let seen = |link: &ReadLink| {
        let outcome = link
            .fault
            .clone()
            .map_or_else(|| Ok(link.link.clone()), Err);
        (link.line, outcome)
    };
    links.iter().map(seen).collect()
}

/// A list of links as `shunt import` writes it.
fn list_of(links: &[ReadLink]) -> Vec<u8> {
    let mut list = csv::WriterBuilder::new()
        .flexible(true)
        .from_writer(Vec::new());
    list.write_record(["line", "reason"].iter().copied().chain(columns()))
        .expect("a header line");
    for link in links {
        let code = link.link.code().unwrap_or_default();
        let cells = link.cells(code).into_iter();
        let cells = cells.map(|cell| match str::from_utf8(&cell) {
            Ok(text) => guarded(text).into_owned().into_bytes(),
            Err(_) => cell,
        });
        let start = [link.line.to_string().into_bytes(), Vec::new()];
        list.write_record(start.into_iter().chain(cells))
            .expect("a row");
    }
    list.into_inner().expect("a list")
}

fn import(data: &[u8], start: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let sources = Source::value_variants();
    let source = sources[usize::from(*first) % sources.len()];
    let file = [start, rest].concat();
    let encoding = Encoding::of(&mut &*file).expect("bytes are read");
    let (links, broken) = read(source, Cursor::new(&file), encoding);
    let lines = 1 + file
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count() as u64;
    assert!(links.is_sorted_by_key(|link| link.line));
    assert!(links.iter().all(|link| (1..=lines).contains(&link.line)));
    let parts = 1 + usize::from(*first) % 7;
    let in_parts = InParts(&file, parts);
    assert_eq!(
        Encoding::of(&mut InParts(&file, parts)).expect("bytes are read"),
        encoding
    );
    let (again, broken_again) = read(source, in_parts, encoding);
    assert_eq!((seen(&again), broken_again), (seen(&links), broken));
    // What was read is in the list as it was read, and what was refused is refused again.
    let list = list_of(&links);
    if links.is_empty() || !source.is_own() {
        return;
    }
    // A list is UTF-8, also where a cell is not: of a few bytes by themselves that could be guessed otherwise.
    let (listed, broken) = read(Source::Shunt, Cursor::new(&list), Encoding::Utf8);
    assert_eq!(broken, None);
    assert_eq!(listed.len(), links.len());
    for (before, after) in links.iter().zip(&listed) {
        // A cell is written with its quotes as they have to be, and without a NUL it is in no table.
        let is_written = |cell: &Vec<u8>| !cell.contains(&0);
        let is_of_quotes = before
            .fault
            .as_ref()
            .is_some_and(|fault| fault.contains("quote"));
        if is_of_quotes || !before.cells("").iter().all(is_written) {
            continue;
        }
        assert_eq!(
            after.fault.is_some(),
            before.fault.is_some(),
            "{before:?} {after:?}"
        );
        if before.fault.is_none() {
            let (mut before, after) = (before.link.clone(), after.link.clone());
            // An empty code is none.
            let code = before.fields.custom_code.given();
            before.fields.custom_code = FieldEdit::set_if(code.filter(|code| !code.is_empty()));
            assert_eq!(before, after);
        }
    }
}

/// A table.
pub fn csv(data: &[u8]) {
    import(data, b"");
}

/// JSON, in an array or line by line.
pub fn json(data: &[u8]) {
    let start = data.first().map_or(
        &b"["[..],
        |first| if first & 128 == 0 { b"[" } else { b"{" },
    );
    import(data, start);
}
