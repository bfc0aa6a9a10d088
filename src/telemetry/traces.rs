//! Traces, sent to a collector by OTLP over HTTP.
//!
//! More settings come from OpenTelemetry's own environment variables: `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
//! `OTEL_TRACES_SAMPLER`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_…`.

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

/// How long the collector may take to accept spans. After that they are lost.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Max bytes of the collector's response, which is a few words.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// The name of the service if `OTEL_SERVICE_NAME` is not set.
const SERVICE_NAME: &str = "shunt";

/// The exporter of spans: a bounded buffer, and a thread that sends it to the collector.
pub struct Traces {
    provider: SdkTracerProvider,
}

/// Traces cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// The collector needs TLS, and there are no root certificates.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0}")]
    NoRootCertificates(#[from] NoRootCertificates),
    /// The exporter cannot be made.
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT: {0}")]
    Exporter(#[from] ExporterBuildError),
}

impl Traces {
    /// Sends to `endpoint` + `/v1/traces`. A collector that does not listen there is found, and logged, when spans are sent.
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

    /// Sends the buffered spans, within 5 s.
    pub fn stop(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(TIMEOUT) {
            tracing::warn!(%error, "the last traces are lost");
        }
    }
}

/// The exporter's HTTP client. It may block, because the exporter has a thread of its own.
#[derive(Debug)]
struct Client(Agent);

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = self.0.run(request.map(Vec::from))?.into_parts();
        let body = Bytes::from(
            body.into_with_config()
                .limit(MAX_RESPONSE_BYTES)
                .read_to_vec()?,
        );
        Ok(Response::from_parts(head, body))
    }
}
