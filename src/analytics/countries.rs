//! Countries of addresses, by a file in the MMDB format that the operator brings.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use maxminddb::{MaxMindDbError, Reader, path};

use crate::domain::{Timestamp, io_reason};

/// A larger file is refused: files with countries have 10 MB, files with cities 70.
const MAX_FILE: u64 = 512 << 20;

/// The file in use; cheap to clone.
#[derive(Clone, Default)]
pub struct Countries(Option<Arc<Source>>);

struct Source {
    path: PathBuf,
    reader: RwLock<Arc<Reader<Vec<u8>>>>,
    /// Rises with each file that is taken into use.
    version: AtomicU64,
    /// Size and time of the file that was read.
    read: Mutex<(u64, Option<SystemTime>)>,
}

/// Why a file of countries cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CountriesError {
    /// It cannot be read.
    #[error("cannot be read: {}", io_reason(.0))]
    Io(#[from] io::Error),
    /// It is not an MMDB file.
    #[error("is not an MMDB file: {0}")]
    Format(#[from] MaxMindDbError),
}

impl Countries {
    /// Countries from a file.
    ///
    /// # Errors
    /// [`CountriesError`].
    pub fn open(path: &Path) -> Result<Self, CountriesError> {
        let (reader, read) = load(path)?;
        Ok(Self(Some(Arc::new(Source {
            path: path.to_owned(),
            reader: RwLock::new(Arc::new(reader)),
            version: AtomicU64::new(0),
            read: Mutex::new(read),
        }))))
    }

    /// Whether there is a file.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.0.is_some()
    }

    /// The version of the file; `None` without a file. Read before a look-up, it says whether the result is still of the newest
    /// file.
    pub(super) fn version(&self) -> Option<u64> {
        let source = self.0.as_ref()?;
        Some(source.version.load(Ordering::Acquire))
    }

    /// Reads the file again if it changed; it blocks. If a file cannot be used, the previous file stays in use.
    ///
    /// # Errors
    /// [`CountriesError`], once for each such file.
    pub fn refresh(&self) -> Result<bool, CountriesError> {
        let Some(source) = &self.0 else {
            return Ok(false);
        };
        let now = stamp(&source.path)?;
        let mut read = source.read.lock().unwrap_or_else(PoisonError::into_inner);
        if *read == now {
            return Ok(false);
        }
        *read = now;
        let (reader, _) = load(&source.path)?;
        let mut current = source
            .reader
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(reader);
        source.version.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    /// The age of the data in use; `None` without a file.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Option<Duration> {
        let reader = self.reader()?;
        let now = u64::try_from(now.micros()).unwrap_or_default() / 1_000_000;
        let age = now.saturating_sub(reader.metadata().build_epoch);
        Some(Duration::from_secs(age))
    }

    /// The two letters of the country of a client, whose address of IPv6 is written as its network.
    pub(super) fn of(&self, client: &str) -> Option<[u8; 2]> {
        let address: IpAddr = client.strip_suffix("/64").unwrap_or(client).parse().ok()?;
        let reader = self.reader()?;
        let found = reader.lookup(address.to_canonical()).ok()?;
        let code: Option<&str> = found.decode_path(&path!["country", "iso_code"]).ok()?;
        let code: [u8; 2] = code?.as_bytes().try_into().ok()?;
        code.iter().all(u8::is_ascii_uppercase).then_some(code)
    }

    fn reader(&self) -> Option<Arc<Reader<Vec<u8>>>> {
        let source = self.0.as_ref()?;
        let reader = source.reader.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&reader))
    }
}

type Stamp = (u64, Option<SystemTime>);

fn stamp(path: &Path) -> io::Result<Stamp> {
    let found = fs::metadata(path)?;
    Ok((found.len(), found.modified().ok()))
}

fn load(path: &Path) -> Result<(Reader<Vec<u8>>, Stamp), CountriesError> {
    let stamp = stamp(path)?;
    if stamp.0 > MAX_FILE {
        let too_large = io::Error::other("it is larger than 512 MiB");
        return Err(too_large.into());
    }
    let reader = Reader::from_source(fs::read(path)?)?;
    Ok((reader, stamp))
}

#[cfg(test)]
#[path = "../../tests/suite/support/mmdb.rs"]
pub(super) mod mmdb;

#[cfg(test)]
mod tests {
    use std::fs::write;

    use super::mmdb::{file, file_of};
    use super::*;

    #[test]
    fn an_address_has_the_country_of_the_file_which_is_read_again_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        write(&path, file([203, 0, 113], "DE")).unwrap();
        let countries = Countries::open(&path).unwrap();
        assert_eq!(countries.of("203.0.113.77"), Some(*b"DE"));
        assert_eq!(countries.of("::ffff:203.0.113.77"), Some(*b"DE"));
        for unknown in ["203.0.112.77", "2001:db8::1", "unix", ""] {
            assert_eq!(countries.of(unknown), None, "{unknown}");
        }
        assert!(!countries.refresh().unwrap());
        let now = Timestamp::from_micros(1_700_000_060_000_000).unwrap();
        assert_eq!(countries.age(now), Some(Duration::from_mins(1)));
        write(&path, [file([203, 0, 113], "FR"), vec![0]].concat()).unwrap();
        assert!(countries.refresh().unwrap());
        assert_eq!(countries.of("203.0.113.77"), Some(*b"FR"));
    }

    #[test]
    fn a_client_with_an_address_of_ipv6_has_the_country_of_its_network() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        write(&path, file_of(6, &[0x20, 0x01, 0x0d, 0xb8], "DE")).unwrap();
        let countries = Countries::open(&path).unwrap();
        for (client, country) in [
            ("2001:db8:1:2::/64", Some(*b"DE")),
            ("2001:db9:1:2::/64", None),
        ] {
            assert_eq!(countries.of(client), country, "{client}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_leaves_the_one_before_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("countries.mmdb");
        assert!(Countries::open(&path).is_err());
        write(&path, file([203, 0, 113], "DE")).unwrap();
        let countries = Countries::open(&path).unwrap();
        write(&path, "no such file").unwrap();
        assert!(countries.refresh().is_err());
        assert_eq!(countries.of("203.0.113.77"), Some(*b"DE"));
    }
}
