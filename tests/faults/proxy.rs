//! A TCP proxy that injects faults between the service and Redis or Postgres.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// A fault in the data that the server sends back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    /// Every response comes 300 ms late.
    Late,
    /// Every response breaks off after its first bytes, and the connection with it.
    Cut,
    /// Connections stay open and no data comes: half-open.
    Silent,
}

const FAULTS: [Fault; 4] = [Fault::None, Fault::Late, Fault::Cut, Fault::Silent];

const LATE: Duration = Duration::from_millis(300);

pub(crate) struct Proxy {
    url: String,
    fault: Arc<AtomicU8>,
}

impl Proxy {
    /// A proxy to the server of this URL.
    pub(crate) async fn to(url: &str) -> Self {
        let mut url = url::Url::parse(url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        url.set_port(Some(own)).unwrap();
        let proxy = Self {
            url: url.into(),
            fault: Arc::default(),
        };
        let fault = Arc::clone(&proxy.fault);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass(from_client, to_server, Arc::default()));
                tokio::spawn(pass(from_server, to_client, Arc::clone(&fault)));
            }
        });
        proxy
    }

    /// The URL of the same server through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn inject(&self, fault: Fault) {
        self.fault.store(fault as u8, Ordering::SeqCst);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, fault: Arc<AtomicU8>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let sent = match FAULTS[usize::from(fault.load(Ordering::SeqCst))] {
            Fault::None => to.write_all(&piece[..length]).await,
            Fault::Late => {
                sleep(LATE).await;
                to.write_all(&piece[..length]).await
            }
            Fault::Cut => {
                let _ = to.write_all(&piece[..length.div_ceil(2)]).await;
                return;
            }
            Fault::Silent => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}
