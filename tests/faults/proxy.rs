//! A TCP proxy that injects faults between the service and Redis or Postgres.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// A fault in the data that the server sends back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Every response comes 300 ms late.
    Late,
    /// Every response breaks off after its first bytes, and the connection with it.
    Cut,
    /// Connections stay open and no data comes: half-open.
    Silent,
    /// All connections are closed, and so is every new one.
    Down,
    /// Instead of each response, an error of the proxy's own comes.
    Error,
}

const LATE: Duration = Duration::from_millis(300);

pub(crate) struct Proxy {
    url: String,
    fault: watch::Sender<Fault>,
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
            fault: watch::Sender::new(Fault::None),
        };
        let fault = proxy.fault.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *fault.borrow() == Fault::Down {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let (mut up, mut down) = (fault.clone(), fault.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(from_client, to_server, None) => {}
                        _ = up.wait_for(|fault| *fault == Fault::Down) => {}
                    }
                });
                let of_server = fault.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(from_server, to_client, Some(of_server)) => {}
                        _ = down.wait_for(|fault| *fault == Fault::Down) => {}
                    }
                });
            }
        });
        proxy
    }

    /// The URL of the same server through this proxy.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn inject(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    fault: Option<watch::Receiver<Fault>>,
) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let current = fault.as_ref().map_or(Fault::None, |fault| *fault.borrow());
        let sent = match current {
            Fault::None | Fault::Down => to.write_all(&piece[..length]).await,
            Fault::Late => {
                sleep(LATE).await;
                to.write_all(&piece[..length]).await
            }
            Fault::Cut => {
                let _ = to.write_all(&piece[..length.div_ceil(2)]).await;
                return;
            }
            Fault::Silent => Ok(()),
            Fault::Error => to.write_all(b"-ERR upstream timeout\r\n").await,
        };
        if sent.is_err() {
            return;
        }
    }
}
