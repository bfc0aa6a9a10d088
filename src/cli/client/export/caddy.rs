//! A Caddyfile. A location has neither braces, quotes nor backslashes, so it stands within quotes as it is.

use std::fmt::Write as _;

use super::{Lasting, LastingLink, LastingLinks, Way};

/// The whole file.
pub(super) fn text(all: &LastingLinks) -> String {
    let mut text = format!(
        "# The links of {}, served by Caddy without shunt: {} codes.\n\
         # A visitor's query is added to the target of links that forward it; parameters of the target stay, too.\n",
        all.service,
        all.len()
    );
    for comment in all.comments() {
        // A string takes all that is written to it.
        let _ = writeln!(text, "# {comment}");
    }
    for host in &all.hosts {
        text.push_str(&site(host));
    }
    text
}

fn site(host: &Lasting) -> String {
    let links = host.links.iter().fold(String::new(), |mut text, link| {
        let (base, fragment) = link.parts();
        let (code, way) = (&link.code, word(link));
        let robots = if link.noindex { "noindex" } else { "-" };
        let _ = writeln!(
            text,
            "\t\t\t\"{code}\" \"{base}\" \"{way}\" \"{fragment}\" \"{robots}\""
        );
        text
    });
    SITE.replace("ORIGIN", &host.origin)
        .replace("\t\t\tLINKS\n", &links)
}

/// How the query is added.
fn word(link: &LastingLink) -> &'static str {
    match link.way() {
        Way::Plain => "plain",
        Way::After("?") => "question",
        Way::After("&") => "ampersand",
        Way::After(_) => "end",
    }
}

const SITE: &str = r#"
ORIGIN {
	@code {
		method GET HEAD
		path_regexp shunt ^/(?:urls/r/)?([A-Za-z0-9_-]+)/?$
	}
	handle @code {
		map {re.shunt.1} {shunt_base} {shunt_way} {shunt_fragment} {shunt_robots} {
			LINKS
			default "-" "unknown" "-" "-"
		}
		map "{shunt_way} {query}" {shunt_added} {
			"~^[a-z]+ &*$" ""
			"~^question (.+)$" "?$1"
			"~^ampersand (.+)$" "&$1"
			"~^end (.+)$" "$1"
			default ""
		}
		@known not vars {shunt_way} unknown
		@noindex vars {shunt_robots} noindex
		header @known Cache-Control "private, no-store"
		header @noindex X-Robots-Tag noindex
		redir @known {shunt_base}{shunt_added}{shunt_fragment} 302
		respond 404
	}
	respond 404
}
"#;
