//! `shunt list`

use std::io::{self, BufWriter, Write};

use clap::Args;

use super::api::Link;
use super::link::Shown;
use super::output::{self, ASIDE, HANDLE, HEAD, harmless};
use super::{Api, Failure, ServiceArgs};

/// Links per page, which are in memory at once.
const PAGE: usize = 100;

/// How many links.
#[derive(Args)]
pub(in crate::cli) struct ListArgs {
    /// At most this many links; without it, all.
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Prints the list, page by page as it comes.
pub(super) fn list(args: ListArgs) -> Result<(), Failure> {
    let api = Api::new(args.service.url)?;
    let token = api.token()?;
    if args.service.json {
        let out = BufWriter::new(io::stdout().lock());
        print_json(out, pages(&api, &token, args.limit), &api)
    } else {
        let out = BufWriter::new(output::stdout());
        print_table(out, pages(&api, &token, args.limit))
    }
}

/// The pages of the list, each asked for when it is needed.
fn pages(
    api: &Api,
    token: &str,
    limit: Option<usize>,
) -> impl Iterator<Item = Result<Vec<Link>, Failure>> {
    let mut left = limit.unwrap_or(usize::MAX);
    // The cursor of the next page, empty for the first one. `None`: there is no next page, or one failed.
    let mut next = Some(String::new());
    std::iter::from_fn(move || {
        let cursor = next.take().filter(|_| left > 0)?;
        let size = PAGE.min(left).to_string();
        let mut query = vec![("limit", size.as_str())];
        if !cursor.is_empty() {
            query.push(("cursor", &cursor));
        }
        let page = api.page::<Vec<Link>>(token, "/urls/my", &query);
        Some(page.map(|(links, after)| {
            next = after;
            left = left.saturating_sub(links.len());
            links
        }))
    })
}

/// One array. A list that breaks off is not valid JSON, so that an incomplete list never looks complete.
fn print_json(
    mut out: impl Write,
    pages: impl Iterator<Item = Result<Vec<Link>, Failure>>,
    api: &Api,
) -> Result<(), Failure> {
    let mut before = "[";
    for page in pages {
        for link in page? {
            let link = output::json(&Shown::new(api, link))?;
            write!(out, "{before}{link}")?;
            before = ",\n";
        }
        out.flush()?;
    }
    if before == "[" {
        write!(out, "[")?;
    }
    writeln!(out, "]")?;
    out.flush()?;
    Ok(())
}

fn print_table(
    mut out: impl Write,
    pages: impl Iterator<Item = Result<Vec<Link>, Failure>>,
) -> Result<(), Failure> {
    // Wide enough for nearly all lists; where a page needs wider columns, they stay so from there on.
    let (mut codes, mut clicks) = (7, 7);
    let mut heads_due = true;
    for page in pages {
        let links = page?;
        for link in &links {
            codes = codes.max(link.short_code.chars().count());
            clicks = clicks.max(link.clicks.to_string().len());
        }
        if std::mem::take(&mut heads_due) {
            let (code, times) = ("CODE", "CLICKS");
            writeln!(out, "{HEAD}{code:codes$}  {times:>clicks$}  TARGET{HEAD:#}")?;
        }
        for link in &links {
            let code = harmless(&link.short_code);
            let (count, target) = (link.clicks, harmless(&link.target_url));
            write!(
                out,
                "{HANDLE}{code:codes$}{HANDLE:#}  {count:>clicks$}  {target}"
            )?;
            if !link.is_active {
                write!(out, "  {ASIDE}(inactive){ASIDE:#}")?;
            }
            writeln!(out)?;
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(code: &str, clicks: u64, is_active: bool) -> Link {
        Link {
            id: 1,
            short_code: code.into(),
            target_url: "https://example.org/".into(),
            clicks,
            is_active,
        }
    }

    #[test]
    fn columns_are_aligned_and_inactive_links_are_marked() {
        let pages = [
            Ok(vec![link("K7mXq2R", 5, true), link("short", 123_456, true)]),
            Ok(vec![link("a-longer-code", 1, false)]),
        ];
        let mut table = Vec::new();
        assert!(print_table(&mut table, pages.into_iter()).is_ok());
        let plain = anstream::adapter::strip_bytes(&table).into_vec();
        let expected = "\
CODE      CLICKS  TARGET
K7mXq2R        5  https://example.org/
short     123456  https://example.org/
a-longer-code        1  https://example.org/  (inactive)
";
        assert_eq!(String::from_utf8_lossy(&plain), expected);
        assert!(table.len() > plain.len(), "a terminal sees styles");
    }

    #[test]
    fn a_list_that_breaks_off_is_a_failure() {
        let pages = [
            Ok(vec![link("a", 0, true)]),
            Err(Failure::Failed("gone".into())),
        ];
        assert!(print_table(Vec::new(), pages.into_iter()).is_err());
    }
}
