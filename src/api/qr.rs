//! `GET /urls/{short_code}/qr`: the QR code of a short URL, as an image.

use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::base_address::BaseAddress;
use super::entity_tags::is_known;
use super::link_body::name_short_url;
#[cfg(test)]
use super::words;
#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody, LimitsMisses, NeedsDatabase, TakesQuery};
use crate::http::{ApiError, ClientAddress, PathCode, QueryOf};
use crate::links::LinkService;
use crate::qr::{Color, Colors, ErrorCorrection, Image, Logo, MARGINS, QrCode, SIZES};

/// Default size of an image in pixels, and default margin in modules. Four modules are the standard's quiet zone.
const SIZE: u32 = 256;
const MARGIN: u32 = 4;

/// For a day: the image of a code never changes, but the link may be deleted.
const CACHED: &str = "public, max-age=86400";

/// How the image looks.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct QrQuery {
    /// `svg` or `png`.
    #[param(schema_with = words::image)]
    format: Option<String>,
    /// Width and height in pixels. A module of the code has a whole number of them; pixels that are left over widen the
    /// margin.
    #[param(value_type = Option<u32>, minimum = 64, maximum = 2048, default = 256)]
    size: Option<String>,
    /// Width of the margin in modules: many scanners need 4.
    #[param(value_type = Option<u32>, minimum = 0, maximum = 16, default = 4)]
    margin: Option<String>,
    /// Error correction: with `L`, `M`, `Q` or `H`, a code of which 7, 15, 25 or 30 % is damaged can still be read.
    #[param(schema_with = words::correction)]
    ecc: Option<String>,
    /// Colour of the dark modules as RRGGBB. It must be much darker than `light`.
    #[param(pattern = "^[0-9A-Fa-f]{6}$", default = "000000")]
    dark: Option<String>,
    /// Colour of the light modules and of the margin as RRGGBB.
    #[param(pattern = "^[0-9A-Fa-f]{6}$", default = "ffffff")]
    light: Option<String>,
    /// `true`: with the service's logo in the middle, if it has one. The error correction is `H` then.
    #[param(value_type = Option<bool>, default = false)]
    logo: Option<String>,
}

/// The operator's logo, if there is one.
#[derive(Clone)]
pub struct QrLogo(pub Option<Logo>);

/// An image in PNG.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(
    dead_code,
    reason = "it only describes the response in the OpenAPI document"
)]
struct PngBody(Vec<u8>);

/// Get a link's QR code.
///
/// An image that leads to `/{short_code}` on this host. It is public, and a link that is not active has one, too.
#[utoipa::path(
    get, path = "/urls/{short_code}/qr", tag = "links", operation_id = "qr",
    params(
        CodeParameter, QrQuery,
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an image that you have"),
    ),
    responses(
        (status = 200, description = "The image", content((String = "image/svg+xml"), (PngBody = "image/png")), headers(
            ("Cache-Control" = String, description = "For how long the image may be kept"),
            ("ETag" = String, description = "The entity tag of the image, for `If-None-Match`"),
            ("Link" = String, description = "`<…>; rel=\"shortlink\"`: the address that the image leads to"),
        )),
        (status = 304, description = "You have the image", headers(
            ("Cache-Control" = String, description = "For how long the image may be kept"),
            ("ETag" = String, description = "The entity tag of the image, for `If-None-Match`"),
        )),
        (status = 404, description = "No link has this code", body = ErrorBody, example = json!({"detail": "URL not found"})),
        (status = 422, description = "A parameter is unknown or not acceptable", body = ErrorBody, examples(
            ("unknown" = (value = json!({"detail": "darc: is not known here; did you mean dark?"}))),
            ("size" = (value = json!({"detail": "size: must be a whole number from 64 to 2048"}))),
            ("too small" = (value = json!({"detail": "size: must be at least 73 here, one pixel for each module; or choose a smaller margin"}))),
            ("logo" = (value = json!({"detail": "logo: must be false, as this service has no logo"}))),
            ("contrast" = (value = json!({"detail": "dark: must be much darker than light for scanners to read it"}))),
        )),
        TakesQuery, LimitsMisses, NeedsDatabase,
    ),
)]
pub(super) async fn qr(
    State(links): State<Arc<LinkService>>,
    State(base_address): State<BaseAddress>,
    State(logo): State<QrLogo>,
    PathCode(code): PathCode,
    client: ClientAddress,
    headers: HeaderMap,
    QueryOf(query): QueryOf<QrQuery>,
) -> Result<Response, ApiError> {
    let drawing = query.parse(logo)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if !links.exists(&code, client.as_str()).await? {
        return Err(ApiError::url_not_found());
    }
    let (kind, image) = drawing.draw(&base_address.short_url(&code))?;
    let tag = tag(&image);
    let is_current = is_known(&headers, &tag);
    let cached = [(CACHE_CONTROL, CACHED.to_owned()), (ETAG, tag)];
    if is_current {
        return Ok((StatusCode::NOT_MODIFIED, cached).into_response());
    }
    let mut response = (cached, [(CONTENT_TYPE, kind)], image).into_response();
    name_short_url(&mut response, &code, &base_address);
    Ok(response)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

/// What is to be drawn.
#[derive(Debug)]
struct Drawing {
    format: Format,
    size: u32,
    margin: u32,
    error_correction: ErrorCorrection,
    colors: Colors,
    logo: Option<Logo>,
}

impl QrQuery {
    fn parse(self, logo: QrLogo) -> Result<Drawing, ApiError> {
        let format = match self.format.as_deref() {
            None | Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            Some(_) => return Err(ApiError::invalid("format: must be svg or png")),
        };
        let error_correction = match self.ecc {
            None => ErrorCorrection::default(),
            Some(raw) => ErrorCorrection::parse(&raw)
                .ok_or_else(|| ApiError::invalid("ecc: must be L, M, Q or H"))?,
        };
        let no_logo = || ApiError::invalid("logo: must be false, as this service has no logo");
        let logo = match self.logo.as_deref() {
            None | Some("false") => None,
            Some("true") => Some(logo.0.ok_or_else(no_logo)?),
            Some(_) => return Err(ApiError::invalid("logo: must be true or false")),
        };
        Ok(Drawing {
            logo,
            format,
            size: whole_number("size", self.size, SIZE, &SIZES)?,
            margin: whole_number("margin", self.margin, MARGIN, &MARGINS)?,
            error_correction,
            colors: Colors::new(
                color("dark", self.dark, Color::BLACK)?,
                color("light", self.light, Color::WHITE)?,
            )?,
        })
    }
}

fn whole_number(
    field: &str,
    raw: Option<String>,
    default: u32,
    range: &RangeInclusive<u32>,
) -> Result<u32, ApiError> {
    let Some(raw) = raw else { return Ok(default) };
    let has_digits_only = raw.bytes().all(|byte| byte.is_ascii_digit());
    let number = raw.parse().ok().filter(|number| range.contains(number));
    number.filter(|_| has_digits_only).ok_or_else(|| {
        let (min, max) = (range.start(), range.end());
        ApiError::invalid(format!(
            "{field}: must be a whole number from {min} to {max}"
        ))
    })
}

fn color(field: &str, raw: Option<String>, default: Color) -> Result<Color, ApiError> {
    let Some(raw) = raw else { return Ok(default) };
    Color::parse(&raw).ok_or_else(|| {
        ApiError::invalid(format!(
            "{field}: must be a colour of six hexadecimal digits, such as 1a237e"
        ))
    })
}

impl Drawing {
    /// The media type of the image, and the image.
    fn draw(&self, short_url: &str) -> Result<(&'static str, Vec<u8>), ApiError> {
        let code = match self.logo {
            None => QrCode::encode(short_url, self.error_correction)?,
            Some(_) => QrCode::encode_around_logo(short_url)?,
        };
        let mut image = Image::new(&code, self.size, self.margin, self.colors)?;
        if let Some(logo) = &self.logo {
            image = image.with_logo(logo);
        }
        Ok(match self.format {
            Format::Svg => ("image/svg+xml", image.svg().into_bytes()),
            Format::Png => ("image/png", image.png()?),
        })
    }
}

/// The entity tag: of the same image, it is the same on every instance.
fn tag(image: &[u8]) -> String {
    let digest = digest(&SHA256, image);
    let half = digest.as_ref().first_chunk().copied().unwrap_or_default();
    format!("\"{:032x}\"", u128::from_be_bytes(half))
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn matches(raw: Option<&String>, is_shaped: impl Fn(&str) -> bool) -> bool {
        raw.map(String::as_str).is_none_or(is_shaped)
    }

    fn is_number(raw: &str, range: &RangeInclusive<u32>) -> bool {
        let digits = !raw.is_empty() && raw.chars().all(|digit| digit.is_ascii_digit());
        digits && raw.parse().is_ok_and(|number| range.contains(&number))
    }

    fn is_color(raw: &str) -> bool {
        raw.len() == 6 && raw.chars().all(|digit| digit.is_ascii_hexdigit())
    }

    proptest! {
        #[test]
        fn parameters_of_the_documented_form_are_accepted_and_others_named(
            format in option::of("svg|png|\\PC{0,4}"),
            size in option::of("[0-9]{2,4}|[+-]?[0-9]{0,5}|\\PC{0,4}"),
            margin in option::of("[0-9]{1,2}|[+-]?[0-9]{0,3}|\\PC{0,3}"),
            ecc in option::of("[LMQH]|[lmqh]?|\\PC{0,3}"),
            dark in option::of("[0-4][0-9a-fA-F][0-4][0-9a-fA-F][0-4][0-9a-fA-F]|#?[0-9a-gA-G]{5,7}|\\PC{0,6}"),
        ) {
            let fits = [
                ("format", matches(format.as_ref(), |raw| ["svg", "png"].contains(&raw))),
                ("size", matches(size.as_ref(), |raw| is_number(raw, &SIZES))),
                ("margin", matches(margin.as_ref(), |raw| is_number(raw, &MARGINS))),
                ("ecc", matches(ecc.as_ref(), |raw| ["L", "M", "Q", "H"].contains(&raw))),
                ("dark", matches(dark.as_ref(), is_color)),
            ];
            let query = QrQuery { format, size, margin, ecc, dark, light: None, logo: None };
            match query.parse(QrLogo(None)) {
                Ok(_) => prop_assert!(fits.iter().all(|(_, fits)| *fits)),
                Err(error) => {
                    let error = error.to_string();
                    let named = fits.iter().find(|(field, _)| error.contains(&format!(": {field}: ")));
                    let (_, fits) = named.expect("a field is named");
                    prop_assert_eq!(*fits, error.contains("must be much darker"));
                }
            }
        }
    }
}
