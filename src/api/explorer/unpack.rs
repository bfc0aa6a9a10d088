//! Part of the build script: takes two files of Swagger UI out of its archive, for `explorer.rs` to embed.
//!
//! An archive compresses its files as gzip does: only the frame around the compressed bytes differs. So nothing is compressed
//! again, and the build needs no library that compresses.

use std::env;
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::{CompressionMethod, ZipArchive};

const FILES: [&str; 2] = ["swagger-ui.css", "swagger-ui-bundle.js"];

/// The head of a gzip file: the method deflate, no name, no time, an unknown system.
const GZIP: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

pub(crate) fn swagger_ui() {
    let folder = env::var_os("OUT_DIR").expect("cargo names the folder");
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED)).expect("it is an archive");
    for number in 0..archive.len() {
        let mut file = archive.by_index_raw(number).expect("the archive is whole");
        let name = file.name().expect("names are text").into_owned();
        let Some(name) = FILES
            .iter()
            .find(|wanted| name.ends_with(&format!("/dist/{wanted}")))
        else {
            continue;
        };
        assert_eq!(file.compression(), CompressionMethod::DEFLATE, "{name}");
        let size = u32::try_from(file.size()).expect("the file is small");
        let check = file.crc32();
        let mut gzipped = GZIP.to_vec();
        file.read_to_end(&mut gzipped)
            .expect("the archive is whole");
        gzipped.extend(check.to_le_bytes());
        gzipped.extend(size.to_le_bytes());
        fs::write(Path::new(&folder).join(format!("{name}.gz")), gzipped)
            .expect("the folder can be written to");
    }
}
