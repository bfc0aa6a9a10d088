//! Traces, sent to a collector by OTLP over HTTP.
//!
//! What else there is to set is read from the environment as OpenTelemetry names it: `OTEL_SERVICE_NAME`,
//! `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_…`.

use std::time::Duration;

use async_trait::async_trait;
use axum::http::{Request, Response};
use bytes::Bytes;
use opentelemetry::global;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use ureq::Agent;
use url::Url;

use crate::http_client::{self, NoRootCertificates};

/// How long the collector may take to accept spans; then they are lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A collector answers with a few words, at most.
const MOST_ANSWER_BYTES: u64 = 64 * 1024;

/// What the service calls itself where `OTEL_SERVICE_NAME` does not say.
const SERVICE_NAME: &str = "shunt";

/// Spans on their way to the collector: gathered in memory, bounded, sent by a thread of its own.
pub struct Traces {
    provider: SdkTracerProvider,
}

/// Traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The collector asks for TLS.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0}")]
    NoRootCertificates(#[from] NoRootCertificates),
    /// The exporter cannot be made.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl Traces {
    /// Sends to `endpoint` + `/v1/traces`. That nobody listens there is only found out, and logged, later.
    ///
    /// # Errors
    /// [`TracesError`].
    pub fn start(endpoint: &Url) -> Result<Self, TracesError> {
        let client = Client(http_client::agent(TIMEOUT, endpoint.scheme() == "https")?);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_timeout(TIMEOUT)
            .with_endpoint(format!(
                "{}/v1/traces",
                endpoint.as_str().trim_end_matches('/')
            ))
            .build()?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(SERVICE_NAME);
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Self { provider })
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.provider.tracer("shunt")
    }

    /// Sends what is not sent yet, within 5 s.
    pub fn stop(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(TIMEOUT) {
            tracing::warn!(%error, "the last traces are lost");
        }
    }
}

/// The exporter's client. It may block: the exporter has a thread of its own.
#[derive(Debug)]
struct Client(Agent);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = self.0.run(request.map(Vec::from))?.into_parts();
        let body = Bytes::from(
            body.into_with_config()
                .limit(MOST_ANSWER_BYTES)
                .read_to_vec()?,
        );
        Ok(Response::from_parts(head, body))
    }
}
