//! `shunt qr`

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use shunt::domain::ShortCode;
use shunt::qr::{ErrorCorrection, QrCode};

use super::whole_file::replace;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The link whose QR code is drawn.
#[derive(Args)]
pub(in crate::cli) struct QrArgs {
    /// A short code or a short link.
    code: String,
    /// Image to write, by its ending `.svg` or `.png`; without it, the code is drawn in the terminal.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Width and height of the image in pixels.
    #[arg(
        long,
        requires = "output",
        default_value_t = 512,
        value_name = "PIXELS"
    )]
    size: u32,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The images that the service draws, by the endings of their files.
const FORMATS: [&str; 2] = ["svg", "png"];
/// More bytes than any image has.
const MAX_IMAGE: u64 = 16 * 1024 * 1024;

/// Draws the QR code of a short URL in the terminal, or fetches it as an image.
pub(super) fn qr(args: QrArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let format = args.output.as_deref().map(format_of).transpose()?;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let short_url = api.short_url(&code);
    let short_url = short_url.map_err(|failure| failure.not_found(&code))?;
    if let (Some(file), Some(format)) = (&args.output, format) {
        let image = fetch(&api, &code, format, args.size)?;
        replace(file, |out| Ok(out.write_all(&image)?))?;
    }
    if json {
        let file = args.output.map(|file| file.to_string_lossy().into_owned());
        return output::json_line(&json!({ "short_url": short_url, "file": file }));
    }
    if format.is_none() {
        let code = QrCode::encode(&short_url, ErrorCorrection::default());
        let code = code.map_err(|error| Failure::of(&error))?;
        write!(output::stdout(), "{}", code.for_terminal())?;
    }
    Ok(())
}

fn format_of(file: &Path) -> Result<&'static str, Failure> {
    let ending = file.extension().and_then(|ending| ending.to_str());
    let format = FORMATS.into_iter().find(|format| Some(*format) == ending);
    format.ok_or_else(|| {
        let file = output::harmless(&file.to_string_lossy()).into_owned();
        Failure::Usage(format!("{file} must end in .svg or .png"))
    })
}

fn fetch(api: &Api, code: &ShortCode, format: &str, size: u32) -> Result<Vec<u8>, Failure> {
    let path = format!("/urls/{code}/qr");
    let size = size.to_string();
    let query = [("format", format), ("size", &size)];
    let mut image = Vec::new();
    let body = api.stream(Call::get(&path).query(&query))?;
    let read = body.take(MAX_IMAGE).read_to_end(&mut image);
    read.map_err(|error| Failure::Unavailable(format!("the image broke off: {error}")))?;
    Ok(image)
}
