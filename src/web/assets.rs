//! What pages load: in the binary, compressed once at the first request, under names that change with the content.

use std::io::Write;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY,
};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};

use crate::http::{ApiError, ranked};

/// For a year: new content gets a new name.
const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

struct Asset {
    /// As `style-0123456789ab.css`.
    name: String,
    kind: &'static str,
    plain: &'static [u8],
    compressed: Bytes,
}

impl Asset {
    fn new(stem: &str, extension: &str, kind: &'static str, plain: &'static [u8]) -> Self {
        let hash = digest(&SHA256, plain);
        let hash = hash.as_ref().first_chunk().copied().unwrap_or_default();
        let hash = u64::from_be_bytes(hash);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let compressed = encoder.write_all(plain).and_then(|()| encoder.finish());
        Self {
            name: format!("{stem}-{hash:016x}.{extension}"),
            kind,
            plain,
            compressed: compressed.expect("writing to memory does not fail").into(),
        }
    }
}

/// The paths that pages name.
pub(super) struct Paths {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) show: String,
    pub(super) passkey: String,
    pub(super) htmx: String,
    pub(super) mark: String,
    pub(super) uplot: String,
    pub(super) uplot_style: String,
    /// Each icon has its name as its ID.
    pub(super) icons: String,
    pub(super) touch: String,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

static ASSETS: LazyLock<[Asset; 10]> = LazyLock::new(|| {
    [
        Asset::new(
            "style",
            "css",
            "text/css; charset=utf-8",
            include_bytes!("assets/style.css"),
        ),
        Asset::new("app", "js", JAVASCRIPT, include_bytes!("assets/app.js")),
        Asset::new("show", "js", JAVASCRIPT, include_bytes!("assets/show.js")),
        Asset::new(
            "passkey",
            "js",
            JAVASCRIPT,
            include_bytes!("assets/passkey.js"),
        ),
        Asset::new(
            "htmx",
            "js",
            JAVASCRIPT,
            include_bytes!("assets/htmx-2.0.11.min.js"),
        ),
        Asset::new(
            "mark",
            "svg",
            "image/svg+xml",
            include_bytes!("assets/mark.svg"),
        ),
        Asset::new(
            "uplot",
            "js",
            JAVASCRIPT,
            include_bytes!("assets/uplot-1.6.32.min.js"),
        ),
        Asset::new(
            "uplot",
            "css",
            "text/css; charset=utf-8",
            include_bytes!("assets/uplot-1.6.32.min.css"),
        ),
        Asset::new(
            "icons",
            "svg",
            "image/svg+xml",
            include_bytes!("assets/icons.svg"),
        ),
        // The mark at 180 pixels, by `rsvg-convert -w 180 -h 180 -b "#14532d"`.
        Asset::new(
            "touch",
            "png",
            "image/png",
            include_bytes!("assets/touch.png"),
        ),
    ]
});

static PATHS: LazyLock<Paths> = LazyLock::new(|| {
    let [
        style,
        script,
        show,
        passkey,
        htmx,
        mark,
        uplot,
        uplot_style,
        icons,
        touch,
    ] = &*ASSETS;
    let path = |asset: &Asset| format!("/assets/{}", asset.name);
    Paths {
        style: path(style),
        script: path(script),
        show: path(show),
        passkey: path(passkey),
        htmx: path(htmx),
        mark: path(mark),
        uplot: path(uplot),
        uplot_style: path(uplot_style),
        icons: path(icons),
        touch: path(touch),
    }
});

/// The paths of the assets.
pub(super) fn paths() -> &'static Paths {
    &PATHS
}

/// `GET /assets/{file}`.
pub(super) async fn asset(uri: Uri, headers: HeaderMap) -> Result<Response, ApiError> {
    let name = uri.path().strip_prefix("/assets/").unwrap_or_default();
    let asset = ASSETS.iter().find(|asset| asset.name == name);
    let asset = asset.ok_or_else(ApiError::not_found)?;
    let accepted = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    let takes_gzip = ranked(accepted.unwrap_or_default()).any(|(name, _)| name == "gzip");
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(asset.kind)),
        (CACHE_CONTROL, IMMUTABLE),
        (VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    Ok(if takes_gzip {
        let coding = [(CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
        (headers, coding, asset.compressed.clone()).into_response()
    } else {
        (headers, asset.plain).into_response()
    })
}
