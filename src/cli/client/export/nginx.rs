//! A file that nginx includes. Its maps take keys whatever their case, so each value begins with its key, and a pattern compares
//! that with the request exactly.

use std::collections::BTreeSet;
use std::collections::HashMap;
use std::fmt::Write as _;

use super::{Lasting, LastingLink, LastingLinks, Way};

/// Bytes of a word that nginx reads for certain: its buffer has 4,096.
const MAX_WORD: usize = 3_500;

/// Texts too long for a word, in parts.
#[derive(Default)]
struct Parts(String, usize);

/// The whole file.
pub(super) fn text(all: &LastingLinks) -> String {
    let mut parts = Parts::default();
    // Keys that differ only by case stand in maps one after the other.
    let mut maps: Vec<String> = vec![String::new()];
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut longest = 0;
    for host in &all.hosts {
        for link in &host.links {
            let key = format!("{}/{}", host.host, link.code);
            longest = longest.max(key.len());
            let before = seen.entry(key.to_ascii_lowercase()).or_default();
            if *before == maps.len() {
                maps.push(String::new());
            }
            let line = format!(
                "    \"{key}\" \"{key} {} {}\";\n",
                flags(link),
                parts.value(key.len(), &link.location)
            );
            maps[*before].push_str(&line);
            *before += 1;
        }
    }
    let mut text = head(all, seen.len(), longest);
    text.push_str(&parts.0);
    let names: Vec<_> = (0..maps.len())
        .map(|at| format!("$shunt_link_{at}"))
        .collect();
    for (name, map) in names.iter().zip(&maps) {
        // A string takes all that is written to it.
        let _ = write!(text, "map $shunt_key {name} {{\n{map}}}\n");
    }
    let links = names.join(" ");
    text.push_str(&MAPS.replace("LINKS", &links));
    text.push_str(&server(&all.hosts));
    text
}

/// What stands before the links.
fn head(all: &LastingLinks, keys: usize, longest: usize) -> String {
    let mut text = format!(
        "# The links of {}, served without shunt: {} codes.\n\
         # Include this file in `http {{ }}`. For https, add `listen 443 ssl` and the certificates to the server at its end.\n\
         # A visitor's query is added to the target of links that forward it; parameters of the target stay, too.\n",
        all.service,
        all.len()
    );
    for comment in all.comments() {
        let _ = writeln!(text, "# {comment}");
    }
    let size = (2 * keys).next_power_of_two().max(2_048);
    let bucket = (4 * (longest + 24)).next_power_of_two().max(128);
    let _ = writeln!(
        text,
        "\n# If these two are set elsewhere, keep the larger value of each.\n\
         map_hash_max_size {size};\nmap_hash_bucket_size {bucket};\n"
    );
    text.push_str(KEYS);
    text
}

/// How the query is added, and whether search engines are asked not to list it.
fn flags(link: &LastingLink) -> String {
    let way = match link.way() {
        Way::Plain => '-',
        Way::After("?") => 'q',
        Way::After("&") => 'a',
        Way::After(_) => 'e',
    };
    let robots = if link.noindex { 'n' } else { '-' };
    format!("{way}{robots}")
}

impl Parts {
    /// A text within quotes. It has neither quotes nor backslashes, and a dollar sign is the value of a variable.
    fn value(&mut self, before: usize, text: &str) -> String {
        let plain = text.replace('$', "${shunt_dollar}");
        if before + plain.len() < MAX_WORD {
            return plain;
        }
        let mut names = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            // A location is ASCII.
            let (part, after) = rest.split_at(rest.len().min(MAX_WORD));
            let _ = writeln!(
                self.0,
                "geo $shunt_part_{} {{ default \"{part}\"; }}",
                self.1
            );
            let _ = write!(names, "${{shunt_part_{}}}", self.1);
            self.1 += 1;
            rest = after;
        }
        names
    }
}

/// The key of a request, and the texts that a value cannot have as they are.
const KEYS: &str = r#"geo $shunt_dollar { default "$"; }
map $request_uri $shunt_key {
    default "";
    "~^/(?:urls/r/)?(?<shunt_code>[A-Za-z0-9_-]+)/?(?:[?]|$)" "$host/$shunt_code";
}
"#;

/// From the values of a request's key to the location.
const MAPS: &str = r#"map "$shunt_key LINKS" $shunt_found {
    default "";
    "~^(?<shunt_asked>\S+) (?:.* )?\k<shunt_asked> (?<shunt_link>[a-z-]{2} \S+)(?: |$)" $shunt_link;
}
map $args $shunt_given {
    default "yes";
    "" "no";
    "~^&+$" "no";
}
map "$shunt_given $shunt_found" $shunt_target {
    default "";
    "~^no .. (?<shunt_to>\S+)$" $shunt_to;
    "~^yes -. (?<shunt_to>\S+)$" $shunt_to;
    "~^yes q. (?<shunt_base>[^#]+)(?<shunt_fragment>#.*)?$" "$shunt_base?$args$shunt_fragment";
    "~^yes a. (?<shunt_base>[^#]+)(?<shunt_fragment>#.*)?$" "$shunt_base&$args$shunt_fragment";
    "~^yes e. (?<shunt_base>[^#]+)(?<shunt_fragment>#.*)?$" "$shunt_base$args$shunt_fragment";
}
map $shunt_found $shunt_robots {
    default "";
    "~^.n" "noindex";
}
"#;

fn server(hosts: &[Lasting]) -> String {
    let ports: BTreeSet<_> = hosts.iter().map(|host| host.port.unwrap_or(80)).collect();
    let names: BTreeSet<_> = hosts.iter().map(|host| &*host.host).collect();
    if names.is_empty() {
        return String::new();
    }
    let listen = ports.iter().fold(String::new(), |mut text, port| {
        let _ = writeln!(text, "    listen {port};\n    # listen [::]:{port};");
        text
    });
    let names: Vec<_> = names.into_iter().collect();
    format!(
        r#"server {{
{listen}    server_name {};
    add_header Cache-Control "private, no-store";
    add_header X-Robots-Tag $shunt_robots;
    if ($request_method !~ ^(?:GET|HEAD)$) {{
        return 405;
    }}
    location / {{
        if ($shunt_target) {{
            return 302 $shunt_target;
        }}
        return 404;
    }}
}}
"#,
        names.join("\n        ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_longer_than_nginx_reads() {
        for location in ["$".repeat(6_000), "a".repeat(6_144)] {
            let mut parts = Parts::default();
            let value = parts.value(100, &location);
            assert!(value.len() < MAX_WORD);
            let joined = parts.0.lines().map(|line| line.split('"').nth(1).unwrap());
            assert_eq!(joined.collect::<String>(), location);
        }
        let mut parts = Parts::default();
        assert_eq!(parts.value(9, "https://a/$b"), "https://a/${shunt_dollar}b");
        assert_eq!(parts.0, "");
    }
}
