//! Traces by OTLP, as a collector receives them.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use reqwest::Method;
use tokio::net::TcpListener;

use crate::support::{App, Mode, Response};

type Received = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

/// A collector that keeps all requests it receives.
async fn collector() -> (String, Received) {
    let received = Received::default();
    let routes = Router::new()
        .route(
            "/v1/traces",
            post(async |State(received): State<Received>, body: Bytes| {
                let request = ExportTraceServiceRequest::decode(body).unwrap();
                received.lock().unwrap().push(request);
            }),
        )
        .with_state(Arc::clone(&received));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (format!("http://{address}"), received)
}

fn spans(received: &Received) -> Vec<Span> {
    let received = received.lock().unwrap();
    received
        .iter()
        .flat_map(|request| &request.resource_spans)
        .flat_map(|resource| &resource.scope_spans)
        .flat_map(|scope| scope.spans.clone())
        .collect()
}

#[tokio::test]
async fn a_request_through_a_trusted_proxy_is_a_span_of_the_proxys_trace() {
    let (endpoint, received) = collector().await;
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        ("TRUSTED_PROXIES", "127.0.0.0/8"),
    ];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let (trace, parent) = (
        0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128,
        0x00f0_67aa_0ba9_02b7_u64,
    );
    let request = app
        .request(Method::GET, "/urls/abc/stats")
        .header("traceparent", format!("00-{trace:032x}-{parent:016x}-01"));
    assert_eq!(Response::of(request).await.status, 404);
    // A stop sends the remaining spans.
    app.finish().await;
    let spans = spans(&received);
    let ours = spans
        .iter()
        .find(|span| span.name == "GET /urls/{short_code}/stats")
        .unwrap();
    assert_eq!(ours.trace_id, trace.to_be_bytes());
    assert_eq!(ours.parent_span_id, parent.to_be_bytes());
    let status = ours
        .attributes
        .iter()
        .find(|attribute| attribute.key == "http.response.status_code");
    assert!(format!("{status:?}").contains("404"), "{status:?}");
}

/// A stranger could otherwise put spans into traces of others, and choose what is sampled.
#[tokio::test]
async fn a_trace_that_a_stranger_names_is_not_continued() {
    let (endpoint, received) = collector().await;
    let settings = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        ("TRUSTED_PROXIES", "192.0.2.0/24"),
    ];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let (trace, parent) = (0x4bf9_2f35_77b3_4da6_u128, 0x00f0_67aa_u64);
    for sampled in [0, 1] {
        let request = app
            .request(Method::GET, "/urls/abc/stats")
            .header("x-forwarded-for", "192.0.2.1")
            .header("tracestate", "rojo=00f067aa0ba902b7")
            .header(
                "traceparent",
                format!("00-{trace:032x}-{parent:016x}-0{sampled}"),
            );
        assert_eq!(Response::of(request).await.status, 404);
    }
    app.finish().await;
    let spans = spans(&received);
    let ours: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "GET /urls/{short_code}/stats")
        .collect();
    assert_eq!(
        ours.len(),
        2,
        "whether it is sampled is not a stranger's to say"
    );
    for span in ours {
        assert_ne!(span.trace_id, trace.to_be_bytes());
        assert!(span.parent_span_id.is_empty(), "{span:?}");
        assert!(span.trace_state.is_empty(), "{span:?}");
    }
}

#[tokio::test]
async fn the_service_serves_while_the_collector_is_away() {
    let settings = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    app.finish().await;
}
