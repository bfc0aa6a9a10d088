//! A bare axum route: every code gets the same 302, without a look-up and without counting.
//!
//! It shows the least cost of a redirect on this web framework. Settings from the environment: `BIND` (default
//! `127.0.0.1:8000`) and `TARGET` (the constant `Location`).

use std::env;
use std::error::Error;

use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::routing::get;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let bind = env::var("BIND").unwrap_or_else(|_| "127.0.0.1:8000".into());
    let target = env::var("TARGET").unwrap_or_else(|_| "https://example.com/".into());
    let location = HeaderValue::try_from(target)?;
    let redirect = move || {
        let location = location.clone();
        async move { (StatusCode::FOUND, [(header::LOCATION, location)]) }
    };
    let router = Router::new().route("/{code}", get(redirect));
    let listener = TcpListener::bind(&bind).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
