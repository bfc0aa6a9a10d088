//! Making new codes longer.

use super::LinkService;
use crate::store::StoreError;
use crate::telemetry::metrics::CODE_LENGTH;

impl LinkService {
    /// Makes new codes longer where so many are in use that a guess might be one. To be called every few seconds: it costs the
    /// same with any number of links.
    ///
    /// # Errors
    /// When the database is away; the length stays as it is.
    pub async fn lengthen_codes(&self) -> Result<(), StoreError> {
        let made = self.store.links_made().await;
        if let Ok(made) = made {
            self.code_length.grow(made);
        }
        let length = u32::try_from(self.code_length.get()).unwrap_or(u32::MAX);
        metrics::gauge!(CODE_LENGTH).set(length);
        made.map(drop)
    }
}
