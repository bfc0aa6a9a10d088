//! What visitors find beside short links.

use std::fs;
use std::sync::Arc;

use clap::Args;
use url::Url;

use super::parse::{site_contact, site_name};
use super::setting::{Optional, optional, setting};
use crate::domain::{Location, TargetUrl, io_reason};
use crate::qr::Logo;

/// What visitors find beside short links.
#[derive(Args, Clone, Debug)]
pub struct SiteSettings {
    /// The name of the service on its pages.
    #[arg(long, env = "SITE_NAME", value_name = "NAME")]
    #[arg(default_value = "shunt", value_parser = setting(site_name))]
    pub site_name: String,
    /// Contact for visitors: a `mailto:` or `https:` address, shown on the pages.
    #[arg(long, env = "SITE_CONTACT", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(site_contact))]
    pub site_contact: Optional<String>,
    /// Address to which `/` redirects browsers, instead of the start page: an `http:` or `https:` address.
    #[arg(long, env = "HOME_REDIRECT", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(redirect))]
    pub home_redirect: Optional<TargetUrl>,
    /// Address to which unknown codes redirect, instead of 404: an `http:` or `https:` address.
    #[arg(long, env = "NOT_FOUND_REDIRECT", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(redirect))]
    pub not_found_redirect: Optional<TargetUrl>,
    /// A logo for QR codes that are asked for with it: a PNG or SVG file of at most 64 KiB, read at the start. Codes in PNG can have a
    /// PNG only.
    #[arg(long, env = "QR_LOGO", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(logo))]
    pub qr_logo: Optional<Logo>,
}

impl SiteSettings {
    /// Where unknown codes lead.
    #[must_use]
    pub fn not_found(&self) -> Option<Arc<Location>> {
        let target = self.not_found_redirect.as_ref();
        target.map(|target| Arc::new(target.location()))
    }
}

/// An address to which visitors are sent.
fn redirect(raw: &str) -> Result<TargetUrl, String> {
    let url = Url::parse(raw).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.map(|url| TargetUrl::from_stored(url.as_str()));
    url.ok_or_else(|| {
        format!("`{raw}` is not an address; give an address such as https://example.org")
    })
}

/// A logo, of which the file is read.
fn logo(path: &str) -> Result<Logo, String> {
    let file = fs::read(path).map_err(|error| format!("`{path}`: {}", io_reason(&error)))?;
    Logo::parse(&file).map_err(|error| format!("`{path}` {error}"))
}
