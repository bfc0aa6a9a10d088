//! `GET /openapi.json`: the OpenAPI document.

use axum::Extension;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::config::BaseUrl;
use crate::http::JSON;

#[cfg(test)]
mod generated;

/// The document of a service that has public metrics and no address: a test writes it from the handlers and their types.
const DOCUMENT: &str = include_str!("openapi.json");

/// The document as it is sent, made once at start.
#[derive(Clone)]
pub(super) struct DocumentJson(Bytes);

impl DocumentJson {
    pub(super) fn new(base_url: &BaseUrl, public_metrics: bool) -> Self {
        let mut compact: String = DOCUMENT.lines().map(str::trim_start).collect();
        // The path of the metrics is the last one.
        let metrics = compact.find(r#","/metrics":"#);
        let metrics = metrics.zip(compact.find(r#"},"components":"#));
        if let Some((start, end)) = metrics.filter(|_| !public_metrics) {
            compact.replace_range(start..end, "");
        }
        let server = format!(r#""url":"{}""#, base_url.as_str());
        let mut json = compact.replacen(r#""url":"/""#, &server, 1);
        json.push('\n');
        Self(json.into())
    }

    /// The operations: route, method and statuses of responses.
    pub(super) fn operations(&self) -> Vec<(String, String, Vec<String>)> {
        let document: Value =
            serde_json::from_slice(&self.0).expect("a test writes the document, which is JSON");
        let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let mut operations = Vec::new();
        for (route, methods) in members(&document["paths"]) {
            for (method, operation) in members(&methods) {
                let statuses = members(&operation["responses"]).into_iter();
                let statuses = statuses.map(|(status, _)| status).collect();
                operations.push((route.clone(), method.to_uppercase(), statuses));
            }
        }
        operations
    }
}

/// The OpenAPI document.
///
/// OpenAPI 3.1, generated from the code of the service: generate a client from it, or test against it.
#[utoipa::path(
    get, path = "/openapi.json", tag = "documentation", operation_id = "document",
    responses((status = 200, description = "This document", body = Object, content_type = "application/json")),
)]
pub(super) async fn document(Extension(DocumentJson(json)): Extension<DocumentJson>) -> Response {
    ([(CONTENT_TYPE, JSON)], json).into_response()
}
