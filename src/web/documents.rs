//! The exports that pages offer: the API's functions are passed in, because this module does not know the API.

use std::sync::Arc;

use axum::response::Response;
use futures_util::future::BoxFuture;

use crate::domain::Principal;
use crate::http::{ApiError, ClientAddress};

/// All links of an account as a file.
pub type ExportLinks = dyn Fn(Principal, ClientAddress, ExportForm) -> BoxFuture<'static, Result<Response, ApiError>>
    + Send
    + Sync;

/// The form of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// For spreadsheets.
    Csv,
    /// JSON, one link a line.
    Ndjson,
}

/// Links as documents, in the forms of the API, which this module does not know.
#[derive(Clone)]
pub struct LinkDocuments {
    /// What an export sends.
    pub export: Arc<ExportLinks>,
}
