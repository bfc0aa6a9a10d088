//! The look of a link's QR code: the fields of its form, and the page that has them without a script.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::language::Language;
use super::page::{Frame, LogoChoice, Site, own_page};
use super::session::SignedIn;
use crate::domain::ShortCode;
use crate::http::{ApiError, PathCode, QueryOf};
use crate::links::LinkService;
use crate::qr::{Color, Colors, ErrorCorrection, SIZES};

/// Pixels of a file unless another width is asked for, and of the preview.
const SIZE: u32 = 512;
const PREVIEW: u32 = 528;

/// The form as it is sent; unknown parameters are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LookQuery {
    dark: String,
    light: String,
    size: String,
    ecc: String,
    logo: String,
}

/// How the image looks.
pub(super) struct Look {
    pub(super) code: String,
    /// The name of a file, without its end.
    pub(super) file: String,
    pub(super) dark: String,
    pub(super) light: String,
    pub(super) size: u32,
    ecc: &'static str,
    pub(super) levels: Vec<Level>,
    pub(super) may_have_logo: bool,
    /// Whether the logo can be in images of both kinds.
    pub(super) is_png_logo: bool,
    pub(super) has_logo: bool,
    pub(super) fault: String,
    /// Addresses of images.
    pub(super) image: String,
    pub(super) png: String,
    pub(super) svg: String,
}

/// A level of error correction, and how much of a code may be damaged.
pub(super) struct Level {
    pub(super) letter: &'static str,
    pub(super) share: String,
    pub(super) is_chosen: bool,
}

impl Look {
    /// Values that are refused are replaced by the usual ones, and named.
    pub(super) fn new(
        language: Language,
        code: &ShortCode,
        logo: LogoChoice,
        query: &LookQuery,
    ) -> Self {
        let color = |raw: &str, usual| match raw {
            "" => Some(usual),
            raw => Color::parse(raw.strip_prefix('#').unwrap_or(raw)),
        };
        let (dark, light) = (
            color(&query.dark, Color::BLACK),
            color(&query.light, Color::WHITE),
        );
        let size = match &*query.size {
            "" => Some(SIZE),
            raw => raw.parse().ok().filter(|size| SIZES.contains(size)),
        };
        let level = match &*query.ecc {
            "" => Some(ErrorCorrection::default()),
            raw => ErrorCorrection::parse(raw),
        };
        let colors = dark.zip(light);
        let fault = match colors.map(|(dark, light)| Colors::new(dark, light)) {
            Some(Ok(_)) if size.is_some() && level.is_some() => "",
            Some(Err(_)) => language.text("qr_fault_contrast"),
            _ => language.text("qr_fault_value"),
        };
        let (dark, light) = colors
            .filter(|(dark, light)| Colors::new(*dark, *light).is_ok())
            .unwrap_or((Color::BLACK, Color::WHITE));
        let code = code.in_path().into_owned();
        let may_have_logo = !matches!(logo, LogoChoice::None);
        let ecc = level.unwrap_or_default().letter();
        let mut look = Self {
            file: code.replace('/', "-"),
            code,
            dark: dark.to_string(),
            light: light.to_string(),
            size: size.unwrap_or(SIZE),
            ecc,
            levels: Level::all(language, ecc),
            may_have_logo,
            is_png_logo: matches!(logo, LogoChoice::Png),
            has_logo: may_have_logo && query.logo == "true",
            fault: fault.to_owned(),
            image: String::new(),
            png: String::new(),
            svg: String::new(),
        };
        look.image = look.address("svg", PREVIEW);
        look.png = look.address("png", look.size);
        look.svg = look.address("svg", look.size);
        look
    }

    fn address(&self, format: &str, size: u32) -> String {
        let mut query = Serializer::new(String::new());
        query
            .append_pair("format", format)
            .append_pair("size", &size.to_string())
            .append_pair("ecc", self.ecc)
            .append_pair("dark", &self.dark)
            .append_pair("light", &self.light);
        if self.has_logo {
            query.append_pair("logo", "true");
        }
        format!("/urls/{}/qr?{}", self.code, query.finish())
    }
}

impl Level {
    fn all(language: Language, chosen: &str) -> Vec<Self> {
        let levels = [("L", 7), ("M", 15), ("Q", 25), ("H", 30)].into_iter();
        let level = |(letter, percent)| Self {
            letter,
            share: language.percent(percent, 100),
            is_chosen: letter == chosen,
        };
        levels.map(level).collect()
    }
}

#[derive(Template)]
#[template(path = "qr_page.html")]
struct QrPage<'a> {
    frame: Frame<'a>,
    /// The code as people read it.
    shown: String,
    without_scheme: String,
    look: Look,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(query): QueryOf<LookQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let found = links.show(signed_in.principal, &code).await?;
    let link = found.ok_or_else(ApiError::url_not_found)?.link;
    let frame = Frame::own(&site, signed_in.owner());
    let look = Look::new(frame.language, &link.code, site.logo(), &query);
    let status = if look.fault.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let page = QrPage {
        frame,
        shown: site.shown_code(&link.code),
        without_scheme: without_scheme(&site.short_url(&link.code)),
        look,
    };
    own_page(status, &page)
}

/// An address as people read it aloud.
pub(super) fn without_scheme(address: &str) -> String {
    let parts = address.split_once("://");
    parts.map_or(address, |(_, rest)| rest).to_owned()
}
