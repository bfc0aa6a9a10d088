//! What all pages share: the operator's words, the frame, the headers.

use std::sync::Arc;

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::assets::{Paths, paths};
use super::language::Language;
use super::opened_at::opened_elsewhere;
use crate::config::{BaseUrl, Config};
use crate::domain::{CurrentHosts, Location, Registration, ShortCode, Timestamp};
use crate::http::{ApiError, HTML, with_clicks_as_of};

/// What the operator says of the service; cheap to clone.
#[derive(Clone)]
pub struct Site(Arc<SiteWords>);

struct SiteWords {
    name: String,
    contact: Option<String>,
    home_redirect: Option<String>,
    base_url: String,
    hosts: CurrentHosts,
    keeps_classes: bool,
    registration: Registration,
}

impl Site {
    /// The settings, and the public address.
    #[must_use]
    pub fn new(config: &Config, base_url: &BaseUrl, hosts: CurrentHosts) -> Self {
        let home = config.site.home_redirect.as_ref();
        Self(Arc::new(SiteWords {
            name: config.site.site_name.clone(),
            contact: config.site.site_contact.as_deref().map(str::to_owned),
            home_redirect: home.map(|home| home.location().as_str().to_owned()),
            base_url: base_url.as_str().to_owned(),
            hosts,
            keeps_classes: config.analytics.are_on,
            registration: config.registration.clone(),
        }))
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn contact(&self) -> Option<&str> {
        self.0.contact.as_deref()
    }

    pub(super) fn home_redirect(&self) -> Option<&str> {
        self.0.home_redirect.as_deref()
    }

    /// The public address, without a slash at its end.
    pub(super) fn base_url(&self) -> &str {
        &self.0.base_url
    }

    /// The service's own host, as people see it.
    pub(super) fn own_host(&self) -> &str {
        let base = self.base_url();
        base.split_once("://").map_or(base, |(_, host)| host)
    }

    /// Whether anything is kept of visitors.
    pub(super) fn keeps_classes(&self) -> bool {
        self.0.keeps_classes
    }

    /// Who may register.
    pub(super) fn registration(&self) -> &Registration {
        &self.0.registration
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.base_url.starts_with("https:")
    }

    /// A code as people read it: of another host with the host.
    pub(super) fn shown_code(&self, code: &ShortCode) -> String {
        self.0.hosts.shown_key(code.as_key())
    }

    /// The address that people share.
    pub(super) fn short_url(&self, code: &ShortCode) -> String {
        self.0.hosts.short_url(&self.0.base_url, code)
    }
}

/// What the frame of a page shows.
pub(super) struct Frame<'a> {
    pub(super) site: &'a Site,
    pub(super) language: Language,
    pub(super) assets: &'static Paths,
    /// The account that is signed in.
    pub(super) owner: Option<Owner<'a>>,
    /// The address at which the page was opened, if its form fails there.
    pub(super) opened_at: Option<String>,
}

/// The account that sees a page, by the token of its forms.
#[derive(Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) csrf: &'a str,
    /// Whether it administers the service.
    pub(super) is_admin: bool,
}

impl<'a> Frame<'a> {
    /// The frame of a page for visitors.
    pub(super) fn public(site: &'a Site, language: Language) -> Self {
        Self {
            site,
            language,
            assets: paths(),
            owner: None,
            opened_at: None,
        }
    }

    /// The same, for a page with a form that a visitor sends.
    pub(super) fn with_form(self, headers: &HeaderMap) -> Self {
        Self {
            opened_at: opened_elsewhere(self.site.base_url(), headers),
            ..self
        }
    }

    /// The frame of an owner's page.
    pub(super) fn own(site: &'a Site, owner: Owner<'a>) -> Self {
        Self {
            owner: Some(owner),
            ..Self::public(site, Language::ENGLISH)
        }
    }
}

/// A number for a person, with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    grouped_with(number, ',')
}

/// A number of things for a person.
pub(super) fn number_of(count: u64, unit: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{} {unit}{end}", grouped(count))
}

/// A number for a person, with this character between thousands.
pub(super) fn grouped_with(number: u64, separator: char) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(separator);
        }
        grouped.push(digit);
    }
    grouped
}

/// A moment to the minute, in UTC.
pub(super) fn minute(moment: Timestamp) -> String {
    let text = moment.to_string();
    let minute = text.get(..16).unwrap_or(&text);
    format!("{} UTC", minute.replace('T', " "))
}

/// A page for visitors has no script at all.
const PUBLIC_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

/// The same with a form whose response leads to any target: Chromium applies `form-action` to redirects, too.
const LEADING_FORM_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self' https: http:; frame-ancestors 'none'",
);

/// An owner's page loads its own scripts, and asks its own service.
const OWN_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
);

/// A page for visitors.
pub(super) fn public_page(status: StatusCode, page: &impl Template) -> Result<Response, ApiError> {
    let mut response = rendered(status, page, PUBLIC_POLICY)?;
    let vary = HeaderValue::from_static("Accept, Accept-Language");
    response.headers_mut().insert(VARY, vary);
    Ok(response)
}

/// A page for visitors whose form leads elsewhere. The other site does not learn where the visitor came from.
pub(super) fn leading_form_page(
    status: StatusCode,
    page: &impl Template,
) -> Result<Response, ApiError> {
    let mut response = public_page(status, page)?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, LEADING_FORM_POLICY);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// A page for an owner.
pub(super) fn own_page(status: StatusCode, page: &impl Template) -> Result<Response, ApiError> {
    rendered(status, page, OWN_POLICY)
}

/// A page for an owner whose click counts may be of an earlier moment.
pub(super) fn own_page_as_of(
    status: StatusCode,
    page: &impl Template,
    as_of: Option<Timestamp>,
) -> Result<Response, ApiError> {
    Ok(with_clicks_as_of(own_page(status, page)?, as_of))
}

/// A page for an owner whose form was refused: with the status and the `Retry-After` of the JSON.
pub(super) fn refused_page(error: &ApiError, page: &impl Template) -> Result<Response, ApiError> {
    let mut response = own_page(error.status(), page)?;
    if let Some(moment) = error.retry_after_header() {
        response.headers_mut().insert(RETRY_AFTER, moment.clone());
    }
    Ok(response)
}

/// A page, or a part of a page, as HTML.
pub(super) fn html(template: &impl Template) -> Result<String, ApiError> {
    let text = template.render();
    text.map_err(|error| ApiError::internal(&error.to_string()))
}

fn rendered(
    status: StatusCode,
    page: &impl Template,
    policy: HeaderValue,
) -> Result<Response, ApiError> {
    let text = html(page)?;
    let headers = [
        (CONTENT_TYPE, HTML),
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((status, headers, text).into_response())
}

/// `303 See Other`, to a path of this service.
pub(super) fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(Location::to_path(path).as_str());
    let location = location.unwrap_or(HeaderValue::from_static("/app"));
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (StatusCode::SEE_OTHER, headers).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas_between_them() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(grouped_with(12_891, '.'), "12.891");
    }
}
