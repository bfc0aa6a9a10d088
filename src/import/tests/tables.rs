//! Tables as spreadsheets write them, and tables in which a quote is missing.

use super::super::link::ImportedLink;
use super::super::own::columns;
use super::{Read, Source, read, read_whole};
use clap::ValueEnum as _;

fn table(rows: &str) -> (Read, Option<String>) {
    read(Source::Csv, rows.as_bytes())
}

/// The links of a table by their lines, and the faults of the other rows.
fn outcomes(read: Read) -> Vec<(u64, String)> {
    let outcome = |(line, link): (u64, Result<ImportedLink, String>)| {
        (
            line,
            link.map_or_else(|fault| fault, |link| link.target().to_owned()),
        )
    };
    read.into_iter().map(outcome).collect()
}

#[test]
fn separators_names_and_ends_of_lines_may_be_those_of_any_spreadsheet() {
    let title = "Eins; zwei, drei\tvier";
    for (separator, first) in [
        (",", ""),
        (";", ""),
        ("\t", ""),
        (";", "sep=;\n"),
        ("\t", "\"SEP=\t\"\n"),
        (",", "sep=,\n"),
    ] {
        for end in ["\n", "\r\n", "\r"] {
            let names = ["Target_URL", "Custom Code", "TITLE", "tags"].join(separator);
            let cells = ["https://example.org/1", "semi-1", "", ""].join(separator);
            let full = [
                "https://example.org/2",
                "semi-2",
                &format!("\"{title}\""),
                "\"a, b\"",
            ]
            .join(separator);
            let rows = format!(
                "\u{feff}{first}{names}\n{cells}\n{full}\nhttps://example.org/3{separator}semi-3\n"
            );
            let (links, fault) = table(&rows.replace('\n', end));
            assert_eq!(fault, None, "{rows:?}");
            let begin = 2 + u64::from(!first.is_empty());
            assert_eq!(links.len(), 3, "{rows:?}");
            for (at, (line, link)) in links.into_iter().enumerate() {
                let link = link.unwrap();
                assert_eq!(line, begin + at as u64, "{rows:?}");
                assert_eq!(link.code(), Some(format!("semi-{}", at + 1).as_str()));
                assert_eq!(link.title(), (at == 1).then_some(title));
                assert_eq!(link.tags().len(), if at == 1 { 2 } else { 0 });
            }
        }
    }
}

#[test]
fn cells_may_be_missing_at_the_end_and_empty_ones_may_be_too_many() {
    let (links, fault) = table(
        "target_url,custom_code,title,,\nhttps://a.example\nhttps://b.example,code-b,B,,,,\nhttps://c.example,code-c,C,,x\n",
    );
    assert_eq!(fault, None);
    let expected = [
        (2, "https://a.example".to_owned()),
        (3, "https://b.example".into()),
        (4, "row: has 5 cells, but the header line has only 3".into()),
    ];
    assert_eq!(outcomes(links), expected);
}

#[test]
fn a_quote_that_is_never_closed_is_named_by_its_line_and_the_rows_before_it_are_read() {
    let rows = |broken: usize, end: &str| {
        let row = |number: usize| {
            let quote = if number == broken { "\"" } else { "" };
            format!("https://example.org/{number},code-{number},{quote}title {number}{end}")
        };
        format!(
            "target_url,custom_code,title{end}{}",
            (0..5_000).map(row).collect::<String>()
        )
    };
    for end in ["\n", "\r\n"] {
        for broken in [0, 10, 4_999] {
            let (links, fault) = table(&rows(broken, end));
            let line = broken + 2;
            assert_eq!(
                fault,
                Some(format!(
                    "line {line}: the quote that opens here is never closed"
                ))
            );
            assert_eq!(links.len(), broken);
        }
    }
    for source in [
        Source::Kutt,
        Source::Yourls,
        Source::Shlink,
        Source::Bitly,
        Source::Shunt,
    ] {
        let header = match source {
            Source::Kutt => "target,address,description",
            Source::Yourls => "url,keyword,title",
            Source::Shlink => "longUrl,shortCode,title",
            Source::Bitly => "long_url,link,title",
            _ => "target_url,short_code,title",
        };
        let row = |title: &str| format!("https://a.example,https://s.test/abcd,{title}\n");
        let (links, fault) = read(
            source,
            format!("{header}\n{}{}{}", row("one"), row("\"two"), row("three")).as_bytes(),
        );
        assert_eq!(
            fault.as_deref(),
            Some("line 3: the quote that opens here is never closed"),
            "{source:?}"
        );
        assert_eq!(links.len(), 1);
    }
    let (_, fault) = table(&format!(
        "target_url,title\nhttps://a.example,\"open\n{}",
        "https://b.example,b\n".repeat(20_000)
    ));
    assert_eq!(
        fault.as_deref(),
        Some("line 2: the quote that opens here is not closed within 256 KiB")
    );
    let (_, fault) = table("target_url,\"title\nhttps://a.example,a\n");
    assert_eq!(
        fault.as_deref(),
        Some("line 1: the quote that opens here is never closed")
    );
}

#[test]
fn a_quote_that_another_cell_closes_swallows_no_rows_silently() {
    let begin = "target_url,custom_code,title,tags\nhttps://example.org/1,code-1,\"open title,\nhttps://example.org/2,code-2,t2,\n";
    // The next quoted cell ends it in the middle.
    let (links, fault) = table(&format!(
        "{begin}https://example.org/3,code-3,\"Title, three\",\n"
    ));
    let why = "line 2: the quote that opens here is closed only in line 4, in the middle of a cell; close it where its cell ends";
    assert_eq!((links.len(), fault.as_deref()), (0, Some(why)));
    // A cell with a quote at its end looks like the end of it.
    for (source, rows) in [
        (
            Source::Csv,
            format!(
                "{begin}https://example.org/3,code-3,size 5\",\nhttps://example.org/4,code-4,,\n"
            ),
        ),
        (
            Source::Shlink,
            format!(
                "{begin}https://example.org/3,code-3,size 5\",\nhttps://example.org/4,code-4,,\n"
            )
            .replace("target_url,custom_code", "longUrl,shortCode"),
        ),
    ] {
        let (links, fault) = read(source, rows.as_bytes());
        assert_eq!(fault, None);
        let why = "row: the quote that opens in line 2 is closed only in line 4, after other rows; close it where its cell ends";
        assert_eq!(
            outcomes(links),
            [(2, why.to_owned()), (5, "https://example.org/4".into())]
        );
    }
}

#[test]
fn text_after_a_quoted_cell_is_refused_and_cells_of_several_lines_are_not() {
    let (links, fault) = table(
        "target_url,title\nhttps://a.example,\"5\" disk\"\nhttps://b.example,\"said \"\"yes\"\"\" \nhttps://c.example,5\" disk\n",
    );
    assert_eq!(fault, None);
    let why =
        "row: has text after the closing quote of a cell; inside a cell, write each quote twice";
    let expected = [
        (2, why.to_owned()),
        (3, "https://b.example".into()),
        (4, "https://c.example".into()),
    ];
    assert_eq!(outcomes(links), expected);
    let (links, fault) = read(
        Source::Kutt,
        b"target,address,description\nhttps://a.example,abcd,\"one,\ntwo, three\r\n\"\"four\"\"\"\nhttps://b.example,bcde,b\n",
    );
    assert_eq!(fault, None);
    let titles: Vec<_> = links
        .into_iter()
        .map(|(line, link)| (line, link.unwrap().title().unwrap().to_owned()))
        .collect();
    assert_eq!(
        titles,
        [(2, "one, two, three \"four\"".to_owned()), (5, "b".into())]
    );
}

#[test]
fn a_row_that_is_no_text_is_kept_as_it_is() {
    let (links, ended) = read_whole(
        Source::Csv,
        b"target_url,custom_code,title,tags\nhttps://a.example,abcd,bad \xff\xfe,\"a,b\"\nhttps://b.example,bc\0d,b,\n",
    );
    assert_eq!(ended, Ok(None));
    assert_eq!(
        links[0].fault.as_deref(),
        Some("title: `bad \u{fffd}\u{fffd}` is not UTF-8")
    );
    let cells = links[0].cells("abcd");
    let of = |column: &str| columns().iter().position(|name| *name == column).unwrap();
    assert_eq!(
        (&cells[of("title")][..], &cells[of("tags")][..]),
        (&b"bad \xff\xfe"[..], &b"a,b"[..])
    );
    assert_eq!(
        links[1].fault.as_deref(),
        Some("custom_code: `bc\0d` has a NUL byte")
    );
    assert_eq!(links[1].cells("")[of("short_code")], b"bc\0d");
}

#[test]
fn a_list_of_refused_rows_is_read_as_such_whatever_service_is_named() {
    let list =
        b"line,reason,target_url,short_code,title\n2,is taken,https://a.example,abcd,'=1+1\n";
    for source in Source::value_variants().iter().copied() {
        let (links, fault) = read(source, list);
        assert_eq!(fault, None, "{source:?}");
        let link = links[0].1.as_ref().unwrap();
        assert_eq!((link.code(), link.title()), (Some("abcd"), Some("=1+1")));
    }
}
