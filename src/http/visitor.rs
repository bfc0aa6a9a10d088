//! What the headers of a request say of its visitor.

use axum::http::HeaderMap;

use crate::analytics::{AddressOf, LastClass, Visitor, VisitorConnection};
use crate::http::FORWARDED_FOR;

/// What the headers of a request say of its visitor, gathered in one pass over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitorHeaders<'a> {
    /// The first `User-Agent` and `Referer`.
    agent: Option<&'a [u8]>,
    referrer: Option<&'a [u8]>,
    forwarded_for: ForwardedFor<'a>,
    /// The first `Accept-Language`.
    languages: Option<&'a [u8]>,
    is_speculative: bool,
    opts_out: bool,
}

/// `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedFor<'a> {
    /// The request has no such header.
    #[default]
    Missing,
    /// The only line.
    Line(&'a [u8]),
    /// There are more lines than one.
    Lines,
}

/// Whether the header of a purpose says so, in whichever of its values or parameters (`prefetch;prerender`).
fn is_speculative(purpose: &[u8]) -> bool {
    const WORDS: [&str; 4] = ["prefetch", "prerender", "preview", "instant"];
    // Browsers send up to 40 bytes; to look through thousands would take longer than a redirect.
    const LONGEST: usize = 64;
    if purpose.len() > LONGEST {
        return false;
    }
    let mut values = purpose.split(|byte| matches!(byte, b',' | b';'));
    values.any(|value| {
        let value = value.trim_ascii();
        WORDS
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    })
}

impl<'a> VisitorHeaders<'a> {
    /// The headers of a request that hyper read.
    #[must_use]
    pub fn of(headers: &'a HeaderMap) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            found.read(name.as_str(), value.as_bytes());
        }
        found
    }

    /// Notes what a header says.
    pub fn read(&mut self, name: &str, value: &'a [u8]) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // By length first: a head has some 15 headers, most of them with other names. Browsers say that they load a page before
        // anybody visits it by the header of the Fetch standard, and by the headers that Chrome, Safari and Firefox sent before it.
        match name.len() {
            3 => self.opts_out |= is("dnt") && value == b"1",
            5 => self.is_speculative |= is("x-moz") && is_speculative(value),
            7 if is("referer") => self.referrer = self.referrer.or(Some(value)),
            7 if is("purpose") => self.is_speculative |= is_speculative(value),
            7 => self.opts_out |= is("sec-gpc") && value == b"1",
            9 => self.is_speculative |= is("x-purpose") && is_speculative(value),
            10 if is("user-agent") => self.agent = self.agent.or(Some(value)),
            11 => self.is_speculative |= is("sec-purpose") && is_speculative(value),
            15 if is(FORWARDED_FOR) => {
                self.forwarded_for = match self.forwarded_for {
                    ForwardedFor::Missing => ForwardedFor::Line(value),
                    _ => ForwardedFor::Lines,
                }
            }
            15 if is("accept-language") => self.languages = self.languages.or(Some(value)),
            _ => {}
        }
    }

    /// The visitor of a request with these headers and this query, perhaps over a connection that has such requests only.
    #[must_use]
    pub fn visitor(
        &self,
        query: Option<&'a str>,
        address: AddressOf<'a>,
        last_class: Option<&'a LastClass>,
    ) -> Visitor<'a> {
        let forwarded_for = match self.forwarded_for {
            ForwardedFor::Missing => Some(&[][..]),
            ForwardedFor::Line(line) => Some(line),
            ForwardedFor::Lines => None,
        };
        Visitor {
            address,
            agent: self.agent,
            referrer: self.referrer,
            languages: self.languages,
            query,
            is_speculative: self.is_speculative,
            opts_out: self.opts_out,
            unlocked: None,
            connection: last_class
                .zip(forwarded_for)
                .map(|(last_class, forwarded_for)| VisitorConnection {
                    last_class,
                    forwarded_for,
                }),
        }
    }

    /// The lines with addresses.
    #[must_use]
    pub fn forwarded_for(&self) -> ForwardedFor<'a> {
        self.forwarded_for
    }
}
