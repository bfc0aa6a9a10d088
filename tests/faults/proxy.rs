//! A TCP proxy that does harm on demand: between the service and Redis or Postgres.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// What happens to what comes back from the server.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Harm {
    None,
    /// Every answer comes 300 ms late.
    Late,
    /// Every answer breaks off after its first bytes, and the connection with it.
    Cut,
    /// Connections stay open and nothing comes: half-open.
    Silent,
}

const HARMS: [Harm; 4] = [Harm::None, Harm::Late, Harm::Cut, Harm::Silent];

const LATE: Duration = Duration::from_millis(300);

pub(crate) struct Proxy {
    url: String,
    harm: Arc<AtomicU8>,
}

impl Proxy {
    /// On the way to the server of a URL.
    pub(crate) async fn before(url: &str) -> Self {
        let mut url = url::Url::parse(url).unwrap();
        let port = url.port().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        url.set_port(Some(own)).unwrap();
        let proxy = Self {
            url: url.into(),
            harm: Arc::default(),
        };
        let harm = Arc::clone(&proxy.harm);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass(from_client, to_server, Arc::default()));
                tokio::spawn(pass(from_server, to_client, Arc::clone(&harm)));
            }
        });
        proxy
    }

    /// The same URL, through here.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn does(&self, harm: Harm) {
        self.harm.store(harm as u8, Ordering::SeqCst);
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, harm: Arc<AtomicU8>) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let sent = match HARMS[usize::from(harm.load(Ordering::SeqCst))] {
            Harm::None => to.write_all(&piece[..length]).await,
            Harm::Late => {
                sleep(LATE).await;
                to.write_all(&piece[..length]).await
            }
            Harm::Cut => {
                let _ = to.write_all(&piece[..length.div_ceil(2)]).await;
                return;
            }
            Harm::Silent => Ok(()),
        };
        if sent.is_err() {
            return;
        }
    }
}
