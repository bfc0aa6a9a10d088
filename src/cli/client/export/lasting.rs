//! The links that another server can serve: one for each code that leads somewhere at this moment. A link that only shunt can guard
//! is left out, so that nothing that was closed is open afterwards.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use shunt::domain::{OwnHost, ShortCode, TargetUrl};
use shunt::wire::FullLinkBody;
use url::Url;

use super::Failure;

/// Longest line of an export: a link with all its rules has room in it.
const MAX_LINE: u64 = 1024 * 1024;
/// Links of one kind that are named.
const NAMED: usize = 20;

/// Where a code leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastingLink {
    pub(super) code: String,
    /// The `Location` of its redirect, which is a URI: none of its bytes ends a word or a quoted string in any of the forms.
    pub(super) location: String,
    /// Whether a visitor's query is added.
    pub(super) forwards: bool,
    pub(super) noindex: bool,
    pub(super) title: Option<String>,
}

/// How a visitor's query is added to a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// It is not.
    Plain,
    /// After this text.
    After(&'static str),
}

impl LastingLink {
    /// How a visitor's query is added.
    pub(super) fn way(&self) -> Way {
        let (base, _) = self.parts();
        match base.find('?') {
            _ if !self.forwards => Way::Plain,
            None => Way::After("?"),
            Some(_) if base.ends_with(['?', '&']) => Way::After(""),
            Some(_) => Way::After("&"),
        }
    }

    /// The location up to its fragment, and the fragment with its `#`.
    pub(super) fn parts(&self) -> (&str, &str) {
        let end = self.location.find('#').unwrap_or(self.location.len());
        self.location.split_at(end)
    }
}

/// The links of one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lasting {
    /// Scheme, host and port, as `https://sho.rt`.
    pub(super) origin: String,
    /// The host in one spelling.
    pub(super) host: String,
    /// The port, if it is not that of the scheme.
    pub(super) port: Option<u16>,
    /// Whether it is the service's own host.
    pub(super) is_own: bool,
    /// By their codes.
    pub(super) links: Vec<LastingLink>,
}

/// All links, and what is to be said of some.
#[derive(Default)]
pub(super) struct LastingLinks {
    /// The service.
    pub(super) service: String,
    /// The service's own host first.
    pub(super) hosts: Vec<Lasting>,
    remarks: BTreeMap<Remark, Named>,
}

/// What is to be said of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Remark {
    Password,
    Inactive,
    Removed,
    Scheduled,
    Ended,
    Invalid,
    Rules,
    EndsLater,
    Limit,
}

impl Remark {
    /// The words after the number of links: of one link, and of several.
    fn text(self) -> [&'static str; 2] {
        let both = |text| [text, text];
        match self {
            Self::Password => both("with a password left out"),
            Self::Inactive => ["that is inactive left out", "that are inactive left out"],
            Self::Removed => ["that was removed left out", "that were removed left out"],
            Self::Scheduled => [
                "that has not started yet left out; export again after the start",
                "that have not started yet left out; export again after their start",
            ],
            Self::Ended => ["that has ended left out", "that have ended left out"],
            Self::Invalid => both("that cannot be written left out"),
            Self::Rules => both("with rules, of which only the own target is kept"),
            Self::EndsLater => both(
                "with an end in the future, which nothing brings about now; export again after it",
            ),
            Self::Limit => both("with a limit of clicks, which nobody counts now"),
        }
    }
}

/// Links of one kind.
#[derive(Default)]
struct Named {
    count: usize,
    first: Vec<String>,
}

impl LastingLinks {
    /// Reads an export in NDJSON.
    pub(super) fn read(lines: impl Read, service: &str) -> Result<Self, Failure> {
        let mut all = Self {
            service: service.to_owned(),
            ..Self::default()
        };
        let mut lines = BufReader::new(lines);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line);
            let read = read.map_err(|error| {
                Failure::Unavailable(format!("the response of {service} broke off: {error}"))
            })?;
            if read == 0 {
                break;
            }
            let exported = serde_json::from_slice(&line).map_err(|_| {
                Failure::Failed(format!(
                    "the response of {service} is not an export of shunt; is the address right?"
                ))
            })?;
            all.add(&exported);
        }
        for host in &mut all.hosts {
            host.links.sort_by(|one, other| one.code.cmp(&other.code));
        }
        let order = |host: &Lasting| (!host.is_own, host.host.clone(), host.port);
        all.hosts.sort_by_key(order);
        Ok(all)
    }

    /// How many codes lead somewhere.
    pub(super) fn len(&self) -> usize {
        self.hosts.iter().map(|host| host.links.len()).sum()
    }

    /// What is to be said, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let remarks = self.remarks.iter();
        remarks
            .map(|(remark, named)| {
                let more = match named.count - named.first.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let first = named.first.join(", ");
                format!("{}: {first}{more}", counted(*remark, named))
            })
            .collect()
    }

    /// The same for the comment of a file, without codes: what is left out is nobody else's business.
    pub(super) fn comments(&self) -> impl Iterator<Item = String> {
        let remarks = self.remarks.iter();
        remarks.map(|(remark, named)| counted(*remark, named))
    }

    fn add(&mut self, link: &FullLinkBody) {
        let name = link
            .short_url
            .split_once("://")
            .map_or(&*link.short_url, |(_, name)| name);
        let to = match served(link) {
            Ok(target) => TargetUrl::parse(target, &OwnHost::unknown()).ok(),
            Err(remark) => return self.remark(remark, name),
        };
        let codes = [&link.short_code].into_iter().chain(&link.aliases);
        let codes: Option<Vec<_>> = codes.map(|code| ShortCode::parse(code)).collect();
        let (Some(to), Some(codes), Some(host)) = (to, codes, self.host_of(link)) else {
            return self.remark(Remark::Invalid, name);
        };
        let location = to.location().as_str().to_owned();
        let is_followed = link.status == "active";
        for code in codes {
            host.links.push(LastingLink {
                code: code.as_str().to_owned(),
                location: location.clone(),
                forwards: link.forward_query && is_followed,
                noindex: link.noindex,
                title: link.title.clone(),
            });
        }
        if !is_followed {
            return;
        }
        for (remark, is_so) in [
            (
                Remark::Rules,
                link.rules
                    .0
                    .as_array()
                    .is_some_and(|rules| !rules.is_empty()),
            ),
            (Remark::EndsLater, link.expires_at.is_some()),
            (Remark::Limit, link.max_clicks.is_some()),
        ] {
            if is_so {
                self.remark(remark, name);
            }
        }
    }

    /// The host of a link, by its short URL.
    fn host_of(&mut self, link: &FullLinkBody) -> Option<&mut Lasting> {
        let url = Url::parse(&link.short_url).ok()?;
        let host = url.host_str()?;
        // It becomes a word of a configuration, and the name of a folder.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
        if host.starts_with('.') || !host.bytes().all(is_plain) {
            return None;
        }
        let (origin, is_own) = (url.origin().ascii_serialization(), link.domain.is_none());
        let known = self.hosts.iter().position(|host| host.origin == origin);
        let at = known.unwrap_or_else(|| {
            self.hosts.push(Lasting {
                origin,
                host: host.to_owned(),
                port: url.port(),
                is_own,
                links: Vec::new(),
            });
            self.hosts.len() - 1
        });
        self.hosts.get_mut(at)
    }

    fn remark(&mut self, remark: Remark, name: &str) {
        let named = self.remarks.entry(remark).or_default();
        named.count += 1;
        if named.first.len() < NAMED {
            named.first.push(name.to_owned());
        }
    }
}

/// Where a link leads everyone from now on, or why it is left out.
fn served(link: &FullLinkBody) -> Result<&str, Remark> {
    // What is over stays over: visitors are sent to the fallback, by shunt too, before it asks for a password.
    let over = link.fallback_url.as_deref();
    match &*link.status {
        "expired" | "used_up" => over.ok_or(Remark::Ended),
        "inactive" => Err(Remark::Inactive),
        "removed" => Err(Remark::Removed),
        _ if link.has_password => Err(Remark::Password),
        "scheduled" => Err(Remark::Scheduled),
        "active" => Ok(&link.target_url),
        _ => Err(Remark::Invalid),
    }
}

fn counted(remark: Remark, named: &Named) -> String {
    let [one, several] = remark.text();
    match named.count {
        1 => format!("1 link {one}"),
        many => format!("{many} links {several}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(links: &[serde_json::Value]) -> LastingLinks {
        let text: Vec<_> = links.iter().map(ToString::to_string).collect();
        LastingLinks::read(text.join("\n").as_bytes(), "https://sho.rt").unwrap()
    }

    fn link(more: &serde_json::Value) -> serde_json::Value {
        let body = FullLinkBody {
            short_code: "abc".into(),
            short_url: "https://sho.rt/abc".into(),
            target_url: "https://example.org/".into(),
            status: "active".into(),
            ..FullLinkBody::default()
        };
        let mut body = json!(body);
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    }

    #[test]
    fn what_only_shunt_can_guard_is_left_out() {
        for (more, words) in [
            (json!({"has_password": true}), "with a password"),
            (
                json!({"status": "inactive", "fallback_url": "https://example.org/f"}),
                "that is inactive",
            ),
            (json!({"status": "removed"}), "that was removed"),
            (json!({"status": "scheduled"}), "that has not started"),
            (json!({"status": "expired"}), "that has ended"),
            (
                json!({"status": "of a later version"}),
                "that cannot be written",
            ),
            (
                json!({"target_url": "javascript:alert(1)"}),
                "that cannot be written",
            ),
            (json!({"short_code": "../abc"}), "that cannot be written"),
            (
                json!({"short_url": "https://../abc"}),
                "that cannot be written",
            ),
        ] {
            let all = read(&[link(&more)]);
            assert_eq!(all.len(), 0, "{more}");
            let notes = all.notes();
            assert!(
                notes.len() == 1 && notes[0].contains(words),
                "{more}: {notes:?}"
            );
        }
    }

    #[test]
    fn an_ended_link_leads_to_its_fallback() {
        let all = read(&[link(&json!({
            "status": "expired", "fallback_url": "https://example.org/f", "has_password": true, "forward_query": true,
        }))]);
        let link = &all.hosts[0].links[0];
        assert_eq!(
            (&*link.location, link.forwards),
            ("https://example.org/f", false)
        );
    }

    #[test]
    fn aliases_are_codes_and_every_host_has_its_own() {
        let all = read(&[
            link(&json!({"short_url": "https://go.test:8443/abc", "domain": "go.test:8443"})),
            link(&json!({"aliases": ["ABC", "a-b"]})),
        ]);
        let codes = |host: &Lasting| {
            host.links
                .iter()
                .map(|link| link.code.clone())
                .collect::<Vec<_>>()
        };
        let [own, other] = &all.hosts[..] else {
            panic!()
        };
        assert_eq!(
            (&*own.origin, codes(own)),
            (
                "https://sho.rt",
                vec!["ABC".into(), "a-b".into(), "abc".into()]
            )
        );
        assert_eq!(
            (&*other.origin, other.port, codes(other)),
            ("https://go.test:8443", Some(8443), vec!["abc".to_owned()])
        );
    }
}
