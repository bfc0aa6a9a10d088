//! QR codes of short URLs, read by programs that know nothing of this one: zbar, and librsvg for SVG.

use std::path::Path;
use std::process::Command;

use reqwest::header::{HeaderMap, HeaderValue, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};

use crate::suite::web::browser::ACCEPT;
use crate::support::{App, Mode, Response, both_modes, with_app_and_settings};

/// An image, as it was answered.
struct Image {
    headers: HeaderMap,
    bytes: Vec<u8>,
}

impl Image {
    async fn of(app: &App, path: &str) -> Self {
        let response = app.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let headers = response.headers().clone();
        Self {
            headers,
            bytes: response.bytes().await.unwrap().to_vec(),
        }
    }

    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The file as PNG, whichever form it had.
    fn png_in(&self, folder: &Path) -> String {
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let png = path("code.png");
        match self.header("content-type") {
            "image/png" => std::fs::write(&png, &self.bytes).unwrap(),
            "image/svg+xml" => {
                let svg = path("code.svg");
                std::fs::write(&svg, &self.bytes).unwrap();
                output_of("rsvg-convert", &["--output", &png, &svg]);
            }
            other => panic!("{other} is no image"),
        }
        png
    }

    /// The text of the code, and the image's width and height.
    fn read(&self) -> (String, (u32, u32)) {
        let folder = tempfile::tempdir().unwrap();
        let png = self.png_in(folder.path());
        let text = output_of("zbarimg", &["--quiet", "--raw", &png]);
        (
            text.trim_end().to_owned(),
            size_of(&std::fs::read(png).unwrap()),
        )
    }
}

/// What a program prints; `tests/run` installs it.
fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Width and height in the first chunk of a PNG.
fn size_of(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

/// The path of the QR code of a fresh link, and its short URL.
async fn fresh(app: &App) -> (String, String) {
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    (
        format!("/urls/{code}/qr"),
        format!("{}/{code}", app.server.base),
    )
}

async fn asked_with_tag(app: &App, path: &str, tag: &str) -> Response {
    let request = app.request(Method::GET, path);
    Response::of(request.header(IF_NONE_MATCH, HeaderValue::from_str(tag).unwrap())).await
}

both_modes! {
    async fn another_program_reads_the_short_url_out_of_every_kind_of_image(app) {
        let (path, short_url) = fresh(app).await;
        for format in ["svg", "png"] {
            for ecc in ["L", "M", "Q", "H"] {
                for (size, look) in [
                    (128, "margin=0"),
                    (200, "margin=1"),
                    (211, "dark=1A237E&light=fffde7"),
                    (256, ""),
                    (300, "margin=16"),
                    (512, "dark=000000&light=B0b0b0"),
                    (1023, "margin=7&dark=808080"),
                    (2048, "dark=c62828&margin=2"),
                ] {
                    let asked = format!("{path}?format={format}&ecc={ecc}&size={size}&{look}");
                    let (text, shown) = Image::of(app, &asked).await.read();
                    assert_eq!((text, shown), (short_url.clone(), (size, size)), "{asked}");
                }
            }
        }
    }

    async fn without_parameters_it_is_an_svg_of_256_pixels(app) {
        let (path, short_url) = fresh(app).await;
        let image = Image::of(app, &path).await;
        assert_eq!(image.header("content-type"), "image/svg+xml");
        assert_eq!(image.read(), (short_url, (256, 256)));
        let same = format!("{path}?format=svg&size=256&margin=4&ecc=M&dark=000000&light=ffffff");
        assert_eq!(Image::of(app, &same).await.bytes, image.bytes);
    }

    async fn the_code_of_a_link_is_public_and_may_be_cached_for_a_day(app) {
        let (path, _) = fresh(app).await;
        for format in ["svg", "png"] {
            let path = format!("{path}?format={format}");
            let image = Image::of(app, &path).await;
            assert_eq!(image.header("cache-control"), "public, max-age=86400");
            let tag = image.header("etag");
            let again = asked_with_tag(app, &path, &format!("\"other\", {tag}")).await;
            assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
            assert_eq!((again.header("etag"), again.header("cache-control")), (tag, "public, max-age=86400"));
            let other = asked_with_tag(app, &format!("{path}&size=300"), tag).await;
            assert_eq!(other.status, 200);
        }
    }

    async fn a_head_request_has_the_headers_alone(app) {
        let (path, _) = fresh(app).await;
        let response = Response::of(app.request(Method::HEAD, &path)).await;
        assert_eq!((response.status.as_u16(), response.text.as_str()), (200, ""));
        assert_eq!(response.header("content-type"), "image/svg+xml");
    }

    async fn an_unknown_or_deleted_code_has_no_qr_code(app) {
        for path in ["/urls/nopenope/qr", "/urls/a.b/qr", "/urls/%ff/qr", "/urls/my/qr"] {
            app.get(path).await.is_error(404, "URL not found");
        }
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}/qr");
        assert_eq!(app.get(&path).await.status, 200);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        app.get(&path).await.is_error(404, "URL not found");
    }

    async fn an_inactive_link_has_a_qr_code(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/urls/{code}");
        let edit = app.request(Method::PATCH, &path).bearer_auth(&token);
        assert_eq!(Response::of(edit.body(r#"{"is_active": false}"#)).await.status, 200);
        assert_eq!(app.get(&format!("/{code}")).await.status, 404);
        assert_eq!(app.get(&format!("{path}/qr")).await.status, 200);
    }

    async fn a_refused_parameter_is_named_with_its_rule(app) {
        let (path, _) = fresh(app).await;
        for (query, detail) in [
            ("format=gif", "format: must be svg or png"),
            ("size=63", "size: must be a whole number from 64 to 2048"),
            ("size=2049", "size: must be a whole number from 64 to 2048"),
            ("size=%2B99", "size: must be a whole number from 64 to 2048"),
            ("margin=17", "margin: must be a whole number from 0 to 16"),
            ("margin=-1", "margin: must be a whole number from 0 to 16"),
            ("ecc=m", "ecc: must be L, M, Q or H"),
            ("dark=%23000000", "dark: must be a colour of six hexadecimal digits, such as 1a237e"),
            ("light=fff", "light: must be a colour of six hexadecimal digits, such as 1a237e"),
            ("size=99&size=99", "size: must be given only once"),
            ("darc=000000", "darc: is not known here; did you mean dark?"),
            ("sice=300", "sice: is not known here; did you mean size?"),
        ] {
            app.get(&format!("{path}?{query}")).await.is_error(422, detail);
        }
    }

    async fn a_browser_gets_a_refusal_as_a_page_with_a_sentence_for_people(app) {
        let (path, _) = fresh(app).await;
        for (path, status, [english, german]) in [
            (format!("{path}?size=5"), 422, ["Enter a whole number from 64 to 2,048.", "Geben Sie eine ganze Zahl von 64 bis 2.048 ein."]),
            (format!("{path}?dark=%3Cb%3E"), 422, ["Enter a colour of six hexadecimal digits, such as 1a237e.", "1a237e"]),
            ("/urls/nopenope/qr".to_owned(), 404, ["There is no link at this address", "404"]),
        ] {
            for (language, tag, sentence) in [("en", "<html lang=\"en\"", english), ("de", "<html lang=\"de\"", german)] {
                let request = app.request(Method::GET, &path).header("accept", ACCEPT);
                let page = Response::of(request.header("accept-language", language)).await;
                assert_eq!(page.status, status, "{path}");
                assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
                assert!(page.text.contains(tag), "{page:?}");
                assert!(page.text.contains(sentence), "{page:?}");
            }
            // An image of a page, and a program.
            for accept in ["image/avif,image/webp,image/*,*/*;q=0.8", "*/*", "application/json"] {
                let request = app.request(Method::GET, &path).header("accept", accept);
                let json = Response::of(request).await;
                assert_eq!((json.status.as_u16(), json.header("content-type")), (status, "application/json"), "{path}");
            }
        }
        let image = app.request(Method::GET, &path).header("accept", ACCEPT);
        assert_eq!(Response::of(image).await.header("content-type"), "image/svg+xml");
    }

    async fn colors_that_no_scanner_can_tell_apart_are_refused(app) {
        let (path, _) = fresh(app).await;
        let detail = "dark: must be much darker than light for scanners to read it";
        for query in ["dark=ffff00", "light=333333", "dark=ffffff&light=000000", "dark=777777&light=777777"] {
            app.get(&format!("{path}?{query}")).await.is_error(422, detail);
        }
    }

    async fn a_size_without_a_whole_pixel_for_each_module_is_refused_with_one_that_has(app) {
        let token = app.register().await;
        let code = "c".repeat(64);
        let target = [("target_url", "https://example.org/"), ("custom_code", &code)];
        let request = app.request(Method::POST, "/urls/shorten").bearer_auth(&token);
        assert_eq!(Response::of(request.query(&target)).await.status, 200);
        let path = format!("/urls/{code}/qr?ecc=H&margin=16&size");
        let refused = app.get(&format!("{path}=64")).await.detail();
        let rule = refused.strip_prefix("size: must be at least ").unwrap();
        let (min, rest) = rule.split_once(' ').unwrap();
        assert_eq!(rest, "here, one pixel for each module; or choose a smaller margin");
        let min: u32 = min.parse().unwrap();
        assert_eq!(app.get(&format!("{path}={}", min - 1)).await.status, 422);
        assert_eq!(app.get(&format!("{path}={min}")).await.status, 200);
    }
}

/// A black square on nothing, 16 pixels wide.
fn logo_file(folder: &Path) -> String {
    let path = folder.join("logo.png");
    let mut encoder = png::Encoder::new(std::fs::File::create(&path).unwrap(), 16, 16);
    encoder.set_color(png::ColorType::Rgba);
    let pixels: Vec<u8> = (0..16 * 16)
        .flat_map(|at| [200, 30, 30, if at % 16 < 14 { 255 } else { 0 }])
        .collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_code_with_the_operators_logo_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("logo.svg");
    std::fs::write(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 4 4\"><rect width=\"4\" height=\"4\" fill=\"#c00\"/></svg>").unwrap();
    let files = [
        (logo_file(folder.path()), &["svg", "png"][..]),
        (svg.to_str().unwrap().to_owned(), &["svg"][..]),
    ];
    for (file, formats) in files {
        with_app_and_settings(Mode::Embedded, &[("QR_LOGO", &file)], async |app| {
            let (path, short_url) = fresh(app).await;
            for format in formats {
                for (size, look) in [
                    (211, "margin=2"),
                    (256, "ecc=L"),
                    (512, "dark=1A237E&light=fffde7"),
                    (2048, ""),
                ] {
                    let asked = format!("{path}?format={format}&size={size}&logo=true&{look}");
                    let (text, shown) = Image::of(app, &asked).await.read();
                    assert_eq!((text, shown), (short_url.clone(), (size, size)), "{asked}");
                }
            }
            let plain = Image::of(app, &format!("{path}?format=svg&ecc=H")).await;
            let with_logo = Image::of(app, &format!("{path}?format=svg&logo=true")).await;
            let has_image =
                |image: &Image| String::from_utf8_lossy(&image.bytes).contains("<image ");
            assert!(has_image(&with_logo) && !has_image(&plain));
            if formats.len() == 1 {
                let refused = app.get(&format!("{path}?format=png&logo=true")).await;
                refused.is_error(
                    422,
                    "format: must be svg with the logo, which has no pixels",
                );
            }
        })
        .await;
    }
}

mod without_a_logo {
    use super::*;

    both_modes! {
        async fn without_a_logo_of_the_service_a_code_with_it_is_refused(app) {
            let (path, _) = fresh(app).await;
            app.get(&format!("{path}?logo=true")).await.is_error(422, "logo: must be false, as this service has no logo");
            app.get(&format!("{path}?logo=yes")).await.is_error(422, "logo: must be true or false");
            assert_eq!(app.get(&format!("{path}?logo=false")).await.status, 200);
        }
    }
}
