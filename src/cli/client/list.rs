//! `shunt list`

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};
use shunt::wire::FullLinkBody;

use crate::cli::number::number;

use super::output::{ASIDE, HANDLE, HEAD, harmless};
use super::{Api, Call, Failure, ServiceArgs, output};

/// Links per page, which are in memory at once.
const PAGE: usize = 100;

/// Which links, in which order.
#[derive(Args)]
pub(in crate::cli) struct ListArgs {
    /// Only links with all of these words in code, alias, target, title, note or tags.
    #[arg(long, value_name = "TEXT")]
    q: Option<String>,
    /// Only links with this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only links with this status.
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// Only links at this host of the service.
    #[arg(long, value_name = "HOST")]
    domain: Option<String>,
    /// Sort by this value; with `-`, the largest or newest first.
    #[arg(long, value_enum, default_value_t = Sort::Newest, allow_hyphen_values = true)]
    sort: Sort,
    /// Instead of your links, those that you deleted and `shunt rm --undo` brings back, the last first.
    #[arg(long, conflicts_with_all = ["q", "tag", "status", "domain", "sort"])]
    deleted: bool,
    /// At most this many links; by default all links.
    #[arg(short = 'n', long, value_name = "N", value_parser = number(0..=usize::MAX))]
    limit: Option<usize>,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Whether a link is followed, and why not.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Status {
    Active,
    Inactive,
    Scheduled,
    Expired,
    UsedUp,
    Removed,
}

/// The order of the list.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    #[value(name = "-created_at")]
    Newest,
    #[value(name = "created_at")]
    Oldest,
    #[value(name = "-clicks")]
    MostClicks,
    #[value(name = "clicks")]
    FewestClicks,
}

/// The name of a value on the command line, which is that of the API, too.
fn name(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_owned())
}

impl ListArgs {
    fn filters(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("q", self.q.clone()),
            ("tag", self.tag.clone()),
            ("domain", self.domain.clone()),
            ("status", self.status.as_ref().and_then(name)),
            ("sort", name(&self.sort)),
            ("view", Some("full".to_owned())),
        ];
        let given = given.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

/// Prints the list, page by page as it comes.
pub(super) fn list(args: ListArgs) -> Result<(), Failure> {
    let (path, filters) = if args.deleted {
        ("/urls/trash", Vec::new())
    } else {
        ("/urls/my", args.filters())
    };
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let pages = pages(&api, &token, path, &filters, args.limit);
    if json {
        print_json(BufWriter::new(io::stdout().lock()), pages)
    } else {
        print_table(BufWriter::new(output::stdout()), pages)
    }
}

/// The pages of the list, each asked for when it is needed.
fn pages(
    api: &Api,
    token: &str,
    path: &'static str,
    filters: &[(&'static str, String)],
    limit: Option<usize>,
) -> impl Iterator<Item = Result<Vec<FullLinkBody>, Failure>> {
    let mut left = limit.unwrap_or(usize::MAX);
    // The cursor of the next page, empty for the first page. `None`: there is no next page, or a page failed.
    let mut next = Some(String::new());
    std::iter::from_fn(move || {
        let cursor = next.take().filter(|_| left > 0)?;
        let size = PAGE.min(left).to_string();
        let mut query = vec![("limit", size.as_str())];
        query.extend(filters.iter().map(|(name, value)| (*name, value.as_str())));
        if !cursor.is_empty() {
            query.push(("cursor", &cursor));
        }
        let page = api.page::<Vec<FullLinkBody>>(Call::get(path).query(&query).token(token));
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
    pages: impl Iterator<Item = Result<Vec<FullLinkBody>, Failure>>,
) -> Result<(), Failure> {
    let mut before = "[";
    for page in pages {
        for link in page? {
            write!(out, "{before}{}", output::json(&link)?)?;
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
    pages: impl Iterator<Item = Result<Vec<FullLinkBody>, Failure>>,
) -> Result<(), Failure> {
    // If a page needs wider columns, later pages have them, too.
    let (mut urls, mut clicks) = ("SHORT URL".len(), "CLICKS".len());
    let mut heads_due = true;
    for page in pages {
        let links = page?;
        for link in &links {
            urls = urls.max(harmless(&link.short_url).chars().count());
            clicks = clicks.max(link.clicks.to_string().len());
        }
        if std::mem::take(&mut heads_due) {
            let (url, times) = ("SHORT URL", "CLICKS");
            writeln!(out, "{HEAD}{url:urls$}  {times:>clicks$}  TARGET{HEAD:#}")?;
        }
        for link in &links {
            let url = harmless(&link.short_url);
            let (count, target) = (link.clicks, harmless(&link.target_url));
            write!(
                out,
                "{HANDLE}{url:urls$}{HANDLE:#}  {count:>clicks$}  {target}"
            )?;
            if link.status != "active" {
                let status = link.status.replace('_', " ");
                write!(out, "  {ASIDE}({}){ASIDE:#}", harmless(&status))?;
            }
            if link.has_password {
                write!(out, "  {ASIDE}(password){ASIDE:#}")?;
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

    fn link(code: &str, clicks: u64, status: &str) -> FullLinkBody {
        FullLinkBody {
            short_url: format!("https://sho.rt/{code}"),
            target_url: "https://example.org/".into(),
            clicks,
            status: status.to_owned().into(),
            ..FullLinkBody::default()
        }
    }

    #[test]
    fn columns_are_aligned_and_links_that_are_not_followed_are_marked() {
        let pages = [
            Ok(vec![
                link("K7mXq2R", 5, "active"),
                link("short", 1_234_567, "active"),
            ]),
            Ok(vec![FullLinkBody {
                has_password: true,
                ..link("a-longer-code", 1, "used_up")
            }]),
        ];
        let mut table = Vec::new();
        assert!(print_table(&mut table, pages.into_iter()).is_ok());
        let plain = anstream::adapter::strip_bytes(&table).into_vec();
        let expected = "\
SHORT URL                CLICKS  TARGET
https://sho.rt/K7mXq2R        5  https://example.org/
https://sho.rt/short    1234567  https://example.org/
https://sho.rt/a-longer-code        1  https://example.org/  (used up)  (password)
";
        assert_eq!(String::from_utf8_lossy(&plain), expected);
        assert!(table.len() > plain.len(), "a terminal sees styles");
    }

    #[test]
    fn a_list_that_breaks_off_is_a_failure() {
        let pages = [
            Ok(vec![link("a", 0, "active")]),
            Err(Failure::Failed("gone".into())),
        ];
        assert!(print_table(Vec::new(), pages.into_iter()).is_err());
    }
}
