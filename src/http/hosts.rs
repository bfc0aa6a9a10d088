//! Whose codes a request speaks of: the codes of the host that it names, or that its parameter `domain` names.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Uri;
use axum::middleware::Next;
use axum::response::Response;

use super::paths::takes_domain;
use crate::domain::{DomainHost, OwnHost, ServedHost, ShortCode};

/// The parameter.
const DOMAIN: &str = "domain";

/// In the extensions of a request that does not speak of the codes of the service's own host.
#[derive(Clone, Debug)]
pub enum CodesOf {
    /// It speaks of the codes of another host.
    Host(Arc<ServedHost>),
    /// It names a host that the service does not have.
    Nobody,
}

impl CodesOf {
    /// A code of a request that may have this extension.
    #[must_use]
    pub fn place(codes: Option<&Self>, code: ShortCode) -> Option<ShortCode> {
        match codes {
            None => Some(code),
            Some(Self::Host(host)) => Some(code.at(host.id)),
            Some(Self::Nobody) => None,
        }
    }
}

/// Reads the parameter `domain` of routes that take a code, and takes it out of the query.
pub async fn with_domain(State(own): State<OwnHost>, mut request: Request, next: Next) -> Response {
    let is_read = request
        .uri()
        .query()
        .is_some_and(|query| query.contains(DOMAIN))
        && takes_domain(request.uri().path())
        && request.extensions().get::<CodesOf>().is_none();
    if is_read && let Some((given, uri)) = without_domain(request.uri()) {
        if let Some(codes) = codes_of(&own, &given) {
            request.extensions_mut().insert(codes);
        }
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

/// `None`: the service's own host.
fn codes_of(own: &OwnHost, given: &str) -> Option<CodesOf> {
    let Ok(host) = DomainHost::parse(given) else {
        return (!given.is_empty()).then_some(CodesOf::Nobody);
    };
    if own.is_named(&host) {
        return None;
    }
    let found = own.others().get().named(host.name().as_bytes()).cloned();
    Some(found.map_or(CodesOf::Nobody, CodesOf::Host))
}

/// The value of the parameter if it is given once, and the address without it.
fn without_domain(uri: &Uri) -> Option<(String, Uri)> {
    let query = uri.query()?;
    let is_it = |pair: &&str| pair.split('=').next() == Some(DOMAIN);
    let mut given = query.split('&').filter(is_it);
    let (Some(pair), None) = (given.next(), given.next()) else {
        return None;
    };
    let (_, value) = url::form_urlencoded::parse(pair.as_bytes()).next()?;
    let others: Vec<_> = query.split('&').filter(|pair| !is_it(pair)).collect();
    let path = uri.path();
    let path_and_query = if others.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", others.join("&"))
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.parse().ok()?);
    Some((value.into_owned(), Uri::from_parts(parts).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_is_taken_out_of_the_query_and_the_rest_stays() {
        for (uri, value, rest) in [
            ("/a?domain=go.example", "go.example", "/a"),
            ("/a?x=%20&domain=a%3A80&y", "a:80", "/a?x=%20&y"),
            ("http://h/a?domain=&domains=1", "", "http://h/a?domains=1"),
        ] {
            let (given, left) = without_domain(&uri.parse().unwrap()).unwrap();
            assert_eq!((given.as_str(), left.to_string().as_str()), (value, rest));
        }
        for uri in ["/a", "/a?x=1", "/a?domain=a&domain=b", "/a?domains=a"] {
            assert!(without_domain(&uri.parse().unwrap()).is_none(), "{uri}");
        }
    }
}
