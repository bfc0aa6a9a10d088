//! `shunt qr`

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::json;
use shunt::qr::{ErrorCorrection, QrCode};

use crate::cli::number::number;

use super::named_link::NamedLink;
use super::output_file::{OutputFile, is_dash};
use super::{Api, Call, Failure, ServiceArgs, output};

/// The link whose QR code is drawn.
#[derive(Args)]
pub(in crate::cli) struct QrArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    /// File to write the image to; `-` is standard output. Without this option, the code is drawn in the terminal.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the image. Without this option, the file name must end in .svg or .png; standard output gets SVG.
    #[arg(long, value_enum, requires = "output")]
    format: Option<Format>,
    /// Width and height of the image in pixels.
    #[arg(
        long,
        requires = "output",
        default_value_t = 512,
        value_name = "PIXELS",
        value_parser = number(64..=2_048_u32)
    )]
    size: u32,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// The images that the service draws.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Svg,
    Png,
}

/// More bytes than any image has.
const MAX_IMAGE: u64 = 16 * 1024 * 1024;

/// Draws the QR code of a short URL in the terminal, or fetches it as an image.
pub(super) fn qr(args: QrArgs) -> Result<(), Failure> {
    let json = args.service.json;
    if json && args.output.as_deref().is_some_and(is_dash) {
        return Err(Failure::Usage(
            "--json and -o - both print to standard output; name a file".into(),
        ));
    }
    let image = args.output.as_deref().map(|file| {
        let format = args.format.map_or_else(|| format_of(file), Ok);
        Ok::<_, Failure>((OutputFile::at(file)?, format?))
    });
    let image = image.transpose()?;
    let timeout = Duration::from_secs(args.service.timeout);
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let short_url = api.short_url(&code);
    let short_url = short_url.map_err(|failure| failure.not_found(&code))?;
    let is_drawn = image.is_none();
    if let Some((file, format)) = image {
        let image = fetch(&api, &code, format, args.size)?;
        file.write(timeout, |out| Ok(out.write_all(&image)?))?;
    }
    if json {
        let file = args.output.map(|file| file.to_string_lossy().into_owned());
        return output::json_line(&json!({ "short_url": short_url, "file": file }));
    }
    if is_drawn {
        let code = QrCode::encode(&short_url, ErrorCorrection::default());
        let code = code.map_err(|error| Failure::of(&error))?;
        write!(output::stdout(), "{}", code.for_terminal())?;
    }
    Ok(())
}

fn format_of(file: &Path) -> Result<Format, Failure> {
    if is_dash(file) {
        return Ok(Format::Svg);
    }
    let ending = file.extension().and_then(|ending| ending.to_str());
    let format = ending.and_then(|ending| Format::from_str(ending, true).ok());
    format.ok_or_else(|| {
        let file = output::harmless(&file.to_string_lossy()).into_owned();
        Failure::Usage(format!(
            "{file} must end in .svg or .png; otherwise give --format"
        ))
    })
}

fn fetch(api: &Api, code: &NamedLink, format: Format, size: u32) -> Result<Vec<u8>, Failure> {
    let path = code.path("/qr");
    let size = size.to_string();
    let format = match format {
        Format::Svg => "svg",
        Format::Png => "png",
    };
    let query = [("format", format), ("size", &size)];
    let mut image = Vec::new();
    let body = api.stream(Call::get(&path).query(&query))?;
    let read = body.take(MAX_IMAGE).read_to_end(&mut image);
    read.map_err(|error| Failure::Unavailable(format!("the image broke off: {error}")))?;
    Ok(image)
}
