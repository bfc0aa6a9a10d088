//! The textbook shortener: a pooled Redis `GET` for the target and an `INCR` for the click, one after
//! the other, in every request.
//!
//! Settings from the environment: `BIND` (default `127.0.0.1:8000`), `REDIS_URL` (default
//! `redis://127.0.0.1:6379`), `POOL_SIZE` (connections; default: that of `deadpool`, two per core). Targets
//! are read from the keys `url:CODE`, clicks go to the keys `clicks:CODE`.

use std::env;
use std::error::Error;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use deadpool_redis::{Config, Pool, PoolConfig, Runtime};
use redis::AsyncCommands;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let bind = env::var("BIND").unwrap_or_else(|_| "127.0.0.1:8000".into());
    let redis = env::var("REDIS_URL").unwrap_or_else(|_| "redis://127.0.0.1:6379".into());
    let mut config = Config::from_url(redis);
    if let Ok(size) = env::var("POOL_SIZE") {
        config.pool = Some(PoolConfig::new(size.parse()?));
    }
    let pool = config.create_pool(Some(Runtime::Tokio1))?;
    let router = Router::new().route("/{code}", get(follow)).with_state(pool);
    let listener = TcpListener::bind(&bind).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}

async fn follow(State(pool): State<Pool>, Path(code): Path<String>) -> Result<Response, Failure> {
    let mut redis = pool.get().await.map_err(|_| Failure)?;
    let target: Option<String> = redis.get(format!("url:{code}")).await?;
    let Some(target) = target else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let () = redis.incr(format!("clicks:{code}"), 1).await?;
    Ok((StatusCode::FOUND, [(header::LOCATION, target)]).into_response())
}

/// A command of Redis failed.
struct Failure;

impl From<redis::RedisError> for Failure {
    fn from(_: redis::RedisError) -> Self {
        Self
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        StatusCode::SERVICE_UNAVAILABLE.into_response()
    }
}
