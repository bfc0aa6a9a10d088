//! The master of the data set, and how it is told from what it was before.
//!
//! A server has a *life*: it ends when the server is started again or another one takes its place. With
//! its next life Redis may be older than it was. So nobody uses a connection to a life that was not looked
//! at: [`RedisShard::find_master`] finds a [`Candidate`], somebody who knows the database decides, and
//! [`RedisShard::admit`] makes it the master that connections are made to.

use std::sync::Arc;
use std::time::Duration;

use deadpool_redis::{Hook, HookError, Manager, Pool, PoolConfig, Runtime};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
};
use tokio::time::timeout;

use super::{Call, RedisFailure, RedisShard};

/// How long connecting may take: enough for TLS over a slow line.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a command may take before anybody relies on the server.
const CANDIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections that the occasional commands (API, flusher) share.
const POOL_SIZE: usize = 8;

/// How often one may be sent on to another server of a cluster.
const MOST_MOVES: usize = 5;

/// Digits of a life's name that are kept: enough to tell it from every other.
const REPLICATION_ID_DIGITS: usize = 16;

/// The server that keeps the data set, in the life that was admitted.
pub(super) struct Master {
    client: Client,
    pub(super) pool: Pool,
    pub(super) life: Arc<str>,
}

/// A connection to a server that takes writes, before it is admitted.
pub struct Candidate {
    client: Client,
    connection: MultiplexedConnection,
    life: Arc<str>,
}

/// Why there is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum FindMasterError {
    /// It is away, or takes no writes now.
    #[error(transparent)]
    Failed(#[from] RedisFailure),
    /// With these settings nobody ever will.
    #[error("{0}")]
    Wrong(String),
}

/// Why a server is no candidate.
enum Unfit {
    FindMasterError(FindMasterError),
    /// Another server of the cluster keeps the data set.
    Moved(String),
}

impl<E: Into<FindMasterError>> From<E> for Unfit {
    fn from(error: E) -> Self {
        Self::FindMasterError(error.into())
    }
}

impl Master {
    pub(super) fn new(client: Client, life: Arc<str>) -> Result<Self, RedisFailure> {
        let mut config = PoolConfig::new(POOL_SIZE);
        config.timeouts.wait = Some(CONNECT_TIMEOUT);
        config.timeouts.create = Some(CONNECT_TIMEOUT);
        config.timeouts.recycle = Some(CANDIDATE_TIMEOUT);
        let info = client.get_connection_info().clone();
        let manager = Manager::new_with_config(info, settings())?;
        let admitted = Arc::clone(&life);
        let same_replication_id =
            Hook::async_fn(move |connection: &mut MultiplexedConnection, _| {
                let admitted = Arc::clone(&admitted);
                Box::pin(async move {
                    check_replication_id(connection, &admitted)
                        .await
                        .map_err(|failure| HookError::message(failure.to_string()))
                })
            });
        let pool = Pool::builder(manager)
            .config(config)
            .runtime(Runtime::Tokio1)
            .post_create(same_replication_id)
            .build()
            .map_err(|error| RedisFailure::Refused(error.to_string()))?;
        Ok(Self { client, pool, life })
    }

    fn address(&self) -> ConnectionInfo {
        self.client.get_connection_info().clone()
    }

    /// A connection to this life. Whatever fails, nothing was sent that changes anything.
    pub(super) async fn connect(&self) -> Result<MultiplexedConnection, RedisFailure> {
        let mut connection = connect(&self.client).await.map_err(|error| match error {
            FindMasterError::Failed(failure) => failure,
            FindMasterError::Wrong(why) => RedisFailure::Refused(why),
        })?;
        check_replication_id(&mut connection, &self.life).await?;
        Ok(connection)
    }
}

impl Candidate {
    /// Connects to the server at an address, if it takes writes: not loading, not a replica, not full.
    async fn connect(server: ConnectionInfo, probe: &Cmd, in_cluster: bool) -> Result<Self, Unfit> {
        let address = server.addr().to_string();
        let client = Client::open(server).map_err(RedisFailure::from)?;
        let mut connection = connect(&client).await?;
        if in_cluster && !is_of_a_cluster(&mut connection).await? {
            let why = format!(
                "{address} is no Redis Cluster; give one address, or those of a cluster's masters"
            );
            return Err(FindMasterError::Wrong(why).into());
        }
        let writes = probe.exec_async(&mut connection);
        let written = timeout(CANDIDATE_TIMEOUT, writes)
            .await
            .map_err(|_| RedisFailure::late())?;
        if let Err(error) = written {
            return Err(match error.redirect_node() {
                Some((address, _)) => Unfit::Moved(address.to_owned()),
                None if error.code() == Some("NOAUTH") => {
                    let why =
                        format!("{address} wants a password; give redis://:PASSWORD@HOST:PORT");
                    FindMasterError::Wrong(why).into()
                }
                None => RedisFailure::from(error).into(),
            });
        }
        let life = life(&mut connection).await?;
        Ok(Self {
            client,
            connection,
            life,
        })
    }

    /// The name of the server's life.
    #[must_use]
    pub fn life(&self) -> &str {
        &self.life
    }

    /// Makes a call.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&mut self, call: &Call) -> Result<T, RedisFailure> {
        timeout(CANDIDATE_TIMEOUT, call.send(&mut self.connection))
            .await
            .unwrap_or_else(|_| Err(RedisFailure::late()))
    }

    pub(super) fn is(&self, master: &Master) -> bool {
        self.life == master.life
            && self.client.get_connection_info().addr() == master.address().addr()
    }

    pub(super) fn into_master(self) -> Result<Master, RedisFailure> {
        Master::new(self.client, self.life)
    }
}

fn settings() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None)
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, FindMasterError> {
    // Nothing was sent yet: whatever fails here, nothing was done.
    timeout(
        CONNECT_TIMEOUT,
        client.get_multiplexed_async_connection_with_config(&settings()),
    )
    .await
    .map_err(|_| RedisFailure::Refused("no connection in time".into()))?
    .map_err(|error| {
        let why = error.to_string();
        let fault = if error.kind() == ErrorKind::AuthenticationFailed {
            "does not let this user and password in; give others"
        } else if why.contains("switch database") {
            "has no database of this number; give one that it has, or none"
        } else if why.contains("invalid peer certificate") {
            "has a certificate that is not trusted; name its authority in SSL_CERT_FILE"
        } else {
            return RedisFailure::Refused(why).into();
        };
        FindMasterError::Wrong(format!("{} {fault}", client.get_connection_info().addr()))
    })
}

/// Whether the server says that it is one of several that share the keys.
async fn is_of_a_cluster(connection: &mut MultiplexedConnection) -> Result<bool, RedisFailure> {
    let told = info(connection, "cluster").await?;
    Ok(told.lines().any(|line| line == "cluster_enabled:1"))
}

async fn check_replication_id(
    connection: &mut MultiplexedConnection,
    admitted: &str,
) -> Result<(), RedisFailure> {
    if *life(connection).await? == *admitted {
        return Ok(());
    }
    Err(RedisFailure::Refused(
        "Redis was started again, or is another server than before".into(),
    ))
}

/// Redis names its history anew with every start and with every take-over.
async fn life(connection: &mut MultiplexedConnection) -> Result<Arc<str>, RedisFailure> {
    parse_replication_id(&info(connection, "replication").await?).map(Arc::from)
}

/// The life in what a server says of its replication.
pub(super) fn parse_replication_id(told: &str) -> Result<String, RedisFailure> {
    told.lines()
        .find_map(|line| line.strip_prefix("master_replid:"))
        .and_then(|id| id.get(..REPLICATION_ID_DIGITS))
        .map(str::to_owned)
        .ok_or_else(|| RedisFailure::Refused("INFO tells no master_replid".into()))
}

/// Asks a server for a section of what it says of itself.
pub(super) fn ask_info(section: &str) -> Call {
    let mut info = redis::cmd("INFO");
    info.arg(section);
    Call::plain(info)
}

/// What the server says of itself.
async fn info(
    connection: &mut MultiplexedConnection,
    section: &str,
) -> Result<String, RedisFailure> {
    timeout(CANDIDATE_TIMEOUT, ask_info(section).send(connection))
        .await
        .map_err(|_| RedisFailure::late())
        .flatten()
        .map_err(RedisFailure::refused)
}

impl RedisShard {
    /// Looks for the server that keeps the data set: where it was last, or where the servers that are known
    /// send whoever asks.
    ///
    /// # Errors
    /// When it does not answer or takes no writes.
    pub async fn find_master(&self) -> Result<Candidate, FindMasterError> {
        let mut probe = redis::cmd("SET");
        probe.arg(self.keys().probe()).arg(1).arg("PX").arg(1_000);
        let last = self.master().ok().map(|master| master.address());
        let known = self.inner.servers.iter().cloned();
        let in_cluster = self.keys().shard().is_some();
        let mut why = RedisFailure::Refused("no server is known".into()).into();
        for server in last.into_iter().chain(known) {
            match follow(server, &probe, in_cluster).await {
                Ok(candidate) => return Ok(candidate),
                Err(failure) => why = failure,
            }
        }
        Err(why)
    }
}

/// The candidate at `server`, or at the one that it sends on to.
async fn follow(
    mut server: ConnectionInfo,
    probe: &Cmd,
    in_cluster: bool,
) -> Result<Candidate, FindMasterError> {
    for _ in 0..MOST_MOVES {
        match Candidate::connect(server.clone(), probe, in_cluster).await {
            Ok(candidate) => return Ok(candidate),
            Err(Unfit::FindMasterError(why)) => return Err(why),
            Err(Unfit::Moved(address)) => {
                server = moved(server, &address).ok_or_else(|| {
                    RedisFailure::Refused(format!("the cluster sent on to `{address}`"))
                })?;
            }
        }
    }
    Err(RedisFailure::Refused("too many redirections within the cluster".into()).into())
}

/// The same account, encryption and so on at another `host:port`; without a host it is the same host.
fn moved(server: ConnectionInfo, address: &str) -> Option<ConnectionInfo> {
    let (host, port) = address.rsplit_once(':')?;
    let (host, port) = (host.to_owned(), port.parse().ok()?);
    let elsewhere = match server.addr().clone() {
        ConnectionAddr::Tcp(asked, _) => {
            ConnectionAddr::Tcp(if host.is_empty() { asked } else { host }, port)
        }
        ConnectionAddr::TcpTls {
            host: asked,
            insecure,
            tls_params,
            ..
        } => ConnectionAddr::TcpTls {
            host: if host.is_empty() { asked } else { host },
            port,
            insecure,
            tls_params,
        },
        _ => return None,
    };
    Some(server.set_addr(elsewhere))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::IntoConnectionInfo;

    use super::*;

    proptest! {
        #[test]
        fn a_cluster_sends_on_to_a_host_and_a_port_or_nowhere(
            address in prop_oneof!["\\PC{0,20}", "[a-z0-9.:\\[\\]-]{0,20}:[0-9]{1,6}"],
        ) {
            for url in ["redis://u:p@first:1/0", "rediss://u:p@first:1/0"] {
                let asked = url.into_connection_info().unwrap();
                let Some(server) = moved(asked, &address) else { continue };
                let (ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) = server.addr() else {
                    panic!("another kind of connection");
                };
                let (named, number) = address.rsplit_once(':').unwrap();
                prop_assert_eq!(host, if named.is_empty() { "first" } else { named });
                prop_assert_eq!(Ok(*port), number.parse());
                prop_assert_eq!(server.redis_settings().username(), Some("u"));
            }
        }
    }
}
