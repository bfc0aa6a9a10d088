//! What all pages share: the operator's words, the frame, the headers.

use std::sync::Arc;

use askama::Template;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

use super::acting::Acting;
use super::assets::{Paths, paths};
use super::language::Language;
use super::opened_at::opened_elsewhere;
use crate::config::{BaseUrl, Config};
use crate::domain::{
    CurrentHosts, GroupRole, Issuer, Location, PasswordUse, Registration, ShortCode, Timestamp,
};
use crate::http::{ApiError, HTML, with_clicks_as_of};

/// Whether QR codes can have the operator's logo.
#[derive(Clone, Copy, Debug)]
pub(super) enum LogoChoice {
    None,
    /// In images of both kinds.
    Png,
    /// In images in SVG only.
    Svg,
}

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
    sends_mail: bool,
    registration: Registration,
    provider: Option<Issuer>,
    passwords: PasswordUse,
    logo: LogoChoice,
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
            sends_mail: config.mail.smtp.is_some(),
            registration: config.registration.clone(),
            provider: config.oidc.oidc_issuer.clone(),
            passwords: config.oidc.passwords(),
            logo: match &config.site.qr_logo {
                None => LogoChoice::None,
                Some(logo) if logo.has_pixels() => LogoChoice::Png,
                Some(_) => LogoChoice::Svg,
            },
        }))
    }

    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn contact(&self) -> Option<&str> {
        self.0.contact.as_deref()
    }

    /// The same as people read it.
    pub(super) fn contact_shown(&self) -> &str {
        let contact = self.contact().unwrap_or_default();
        contact.strip_prefix("mailto:").unwrap_or(contact)
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

    /// Whether the service sends mail.
    pub(super) fn sends_mail(&self) -> bool {
        self.0.sends_mail
    }

    /// Whether QR codes can have a logo.
    pub(super) fn logo(&self) -> LogoChoice {
        self.0.logo
    }

    /// Who may register.
    pub(super) fn registration(&self) -> &Registration {
        &self.0.registration
    }

    /// By which name people know the identity provider, if there is one.
    pub(super) fn provider(&self) -> Option<&str> {
        self.0.provider.as_ref().map(Issuer::host)
    }

    /// Whether people may sign in to pages by a password.
    pub(super) fn has_passwords(&self) -> bool {
        self.0.passwords == PasswordUse::Everywhere
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
    /// The token of forms that are about the session itself.
    pub(super) own_csrf: &'a str,
    /// For whom it acts.
    pub(super) acting: &'a Acting,
    /// The language of its pages.
    pub(super) language: Language,
    /// Whether it administers the service.
    pub(super) is_admin: bool,
}

impl<'a> Frame<'a> {
    /// Whether the account may change what the page shows.
    pub(super) fn may_edit(&self) -> bool {
        let owner = self.owner.as_ref();
        owner.is_none_or(|owner| owner.acting.may(GroupRole::Editor))
    }

    /// Where the account may move the links that the page shows, and the names of these places.
    pub(super) fn places(&self) -> Vec<(String, &str)> {
        let own = self.language.text("groups_mine");
        let owner = self.owner.as_ref();
        owner.map_or_else(Vec::new, |owner| owner.acting.places(own))
    }

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
            ..Self::public(site, owner.language)
        }
    }
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
    let vary = HeaderValue::from_static("Accept, Accept-Language, Cookie");
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

/// `303 See Other`, to an address of another service, which answers by leading back.
pub(super) fn see_other_site(url: &str) -> Result<Response, ApiError> {
    let location =
        HeaderValue::from_str(url).map_err(|error| ApiError::internal(&error.to_string()))?;
    let headers = [
        (LOCATION, location),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}
