//! The server of a data set, and how a restart or take-over of it is noticed.
//!
//! A Redis server names its history by a *replication ID* (`master_replid` of `INFO`), and takes a new one when it is
//! started again or takes over from another. Its data may then be older than before. So a connection is used only if
//! its server has the replication ID that the term is for: [`RedisShard::find_master`] finds a [`Candidate`], recovery (in
//! `clicks`) compares it with the database, and [`RedisShard::use_master`] makes it the master that connections are made to.
//!
//! [`RedisShard::find_master`]: super::RedisShard::find_master
//! [`RedisShard::use_master`]: super::RedisShard::use_master

use std::sync::Arc;
use std::time::Duration;

use deadpool_redis::{Hook, HookError, Manager, Pool, PoolConfig, Runtime};
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue,
    RedisError, Value,
};
use tokio::time::timeout;

use super::call::Call;
use super::failure::RedisFailure;
use super::keys::Keys;
use super::term::Term;

/// How long connecting may take: enough for TLS over a slow network.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a command to a candidate, or a check of a new connection, may take.
const CANDIDATE_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections that the occasional commands (API, flusher) share.
const POOL_SIZE: usize = 8;

/// How many redirections within a cluster are followed.
const MAX_MOVES: usize = 5;

/// Digits of a replication ID that are kept: enough to be unique.
const REPLICATION_ID_DIGITS: usize = 16;

/// The server that keeps the data set, under the replication ID that its term is for.
pub(super) struct Master {
    client: Client,
    pub(super) pool: Pool,
    pub(super) replication_id: Arc<str>,
    pub(super) term: Arc<Term>,
}

/// A server that takes writes and is not compared with the database yet.
pub struct Candidate {
    client: Client,
    connection: MultiplexedConnection,
    replication_id: Arc<str>,
}

/// Why there is no candidate.
#[derive(Debug, thiserror::Error)]
pub enum FindMasterError {
    /// Redis is away, or takes no writes now.
    #[error(transparent)]
    Failed(#[from] RedisFailure),
    /// These settings cannot work; says what to change.
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
    pub(super) fn new(
        client: Client,
        replication_id: Arc<str>,
        term: Term,
    ) -> Result<Self, RedisFailure> {
        let mut config = PoolConfig::new(POOL_SIZE);
        config.timeouts.wait = Some(CONNECT_TIMEOUT);
        config.timeouts.create = Some(CONNECT_TIMEOUT);
        config.timeouts.recycle = Some(CANDIDATE_TIMEOUT);
        let info = client.get_connection_info().clone();
        let manager = Manager::new_with_config(info, settings())?;
        let expected = Arc::clone(&replication_id);
        let same_replication_id =
            Hook::async_fn(move |connection: &mut MultiplexedConnection, _| {
                let expected = Arc::clone(&expected);
                Box::pin(async move {
                    check_replication_id(connection, &expected)
                        .await
                        .map_err(|failure| HookError::message(failure.to_string()))
                })
            });
        let pool = Pool::builder(manager)
            .config(config)
            .runtime(Runtime::Tokio1)
            .post_create(same_replication_id)
            .build()
            .map_err(|error| RedisFailure::refused(&error))?;
        Ok(Self {
            client,
            pool,
            replication_id,
            term: Arc::new(term),
        })
    }

    pub(super) fn address(&self) -> ConnectionInfo {
        self.client.get_connection_info().clone()
    }

    /// A connection to this server, refused if its replication ID has changed. A failure leaves nothing in doubt.
    pub(super) async fn connect(&self) -> Result<MultiplexedConnection, RedisFailure> {
        let mut connection = connect(&self.client).await.map_err(|error| match error {
            FindMasterError::Failed(failure) => failure,
            FindMasterError::Wrong(why) => RedisFailure::Refused(why),
        })?;
        check_replication_id(&mut connection, &self.replication_id).await?;
        Ok(connection)
    }
}

impl Candidate {
    /// Connects to the server at an address, if it takes writes: not loading, not a replica, not full.
    async fn connect(server: ConnectionInfo, probe: &Cmd, in_cluster: bool) -> Result<Self, Unfit> {
        let address = server.addr().to_string();
        let client = Client::open(server).map_err(RedisFailure::from)?;
        let mut connection = connect(&client).await?;
        let writes = probe.exec_async(&mut connection);
        let written = timeout(CANDIDATE_TIMEOUT, writes)
            .await
            .map_err(|_| RedisFailure::late())?;
        if let Err(error) = written {
            return Err(match error.redirect_node() {
                Some((address, _)) => Unfit::Moved(address.to_owned()),
                None if error.code() == Some("NOAUTH") => wants_a_password(&address).into(),
                None => RedisFailure::from(error).into(),
            });
        }
        if in_cluster != says_cluster(&info(&mut connection, "cluster").await?) {
            let why = if in_cluster {
                format!(
                    "{address} is no Redis Cluster; give one address, or those of a cluster's masters"
                )
            } else {
                format!("{address} is a Redis Cluster, and was away at the start; start again")
            };
            return Err(FindMasterError::Wrong(why).into());
        }
        let replication_id = replication_id(&mut connection).await?;
        Ok(Self {
            client,
            connection,
            replication_id,
        })
    }

    /// The server's replication ID.
    #[must_use]
    pub fn replication_id(&self) -> &str {
        &self.replication_id
    }

    /// Makes a call.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(&mut self, call: &Call) -> Result<T, RedisFailure> {
        Ok(T::from_redis_value(self.reply(call).await?).map_err(RedisError::from)?)
    }

    async fn reply(&mut self, call: &Call) -> Result<Value, RedisFailure> {
        timeout(CANDIDATE_TIMEOUT, call.send(&mut self.connection))
            .await
            .unwrap_or_else(|_| Err(RedisFailure::late()))
    }

    pub(super) fn is(&self, master: &Master) -> bool {
        self.replication_id == master.replication_id
            && self.client.get_connection_info().addr() == master.address().addr()
    }

    pub(super) fn into_master(self, term: Term) -> Result<Master, RedisFailure> {
        Master::new(self.client, self.replication_id, term)
    }
}

fn settings() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(None)
}

async fn connect(client: &Client) -> Result<MultiplexedConnection, FindMasterError> {
    // No command was sent yet, so every failure here is a refusal.
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

/// Whether the server at an address belongs to a Redis Cluster.
pub(super) async fn is_of_a_cluster(server: ConnectionInfo) -> Result<bool, FindMasterError> {
    let address = server.addr().to_string();
    let client = Client::open(server).map_err(RedisFailure::from)?;
    let mut connection = connect(&client).await?;
    match info(&mut connection, "cluster").await {
        Ok(info) => Ok(says_cluster(&info)),
        Err(RedisFailure::Refused(why)) if why.contains("NOAUTH") => {
            Err(wants_a_password(&address))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Whether the section `cluster` of `INFO` is of a server in a Redis Cluster.
fn says_cluster(info: &str) -> bool {
    info.lines().any(|line| line == "cluster_enabled:1")
}

fn wants_a_password(address: &str) -> FindMasterError {
    let why = format!("{address} wants a password; give redis://:PASSWORD@HOST:PORT");
    FindMasterError::Wrong(why)
}

async fn check_replication_id(
    connection: &mut MultiplexedConnection,
    expected: &str,
) -> Result<(), RedisFailure> {
    if *replication_id(connection).await? == *expected {
        return Ok(());
    }
    Err(RedisFailure::Refused(
        "Redis was started again, or is another server than before".into(),
    ))
}

/// The replication ID that the server reports: a new one after every start and take-over.
async fn replication_id(connection: &mut MultiplexedConnection) -> Result<Arc<str>, RedisFailure> {
    parse_replication_id(&info(connection, "replication").await?).map(Arc::from)
}

/// The replication ID in the section `replication` of `INFO`.
fn parse_replication_id(info: &str) -> Result<String, RedisFailure> {
    info.lines()
        .find_map(|line| line.strip_prefix("master_replid:"))
        .and_then(|id| id.get(..REPLICATION_ID_DIGITS))
        .map(str::to_owned)
        .ok_or_else(|| RedisFailure::Refused("INFO has no master_replid".into()))
}

/// A section of `INFO`.
async fn info(
    connection: &mut MultiplexedConnection,
    section: &str,
) -> Result<String, RedisFailure> {
    let mut info = redis::cmd("INFO");
    info.arg(section);
    let reply = timeout(CANDIDATE_TIMEOUT, Call::plain(info).send(connection))
        .await
        .map_err(|_| RedisFailure::late())
        .flatten()
        .map_err(RedisFailure::of_a_read)?;
    let text = String::from_redis_value(reply).map_err(RedisError::from);
    text.map_err(|error| RedisFailure::from(error).of_a_read())
}

/// The first of `servers`, or of those that they redirect to, which keeps the data set with these keys and whose replication
/// ID is not in `passed_over`.
pub(super) async fn find(
    servers: impl Iterator<Item = ConnectionInfo>,
    keys: &Keys,
    passed_over: &[String],
) -> Result<Candidate, FindMasterError> {
    let mut probe = redis::cmd("SET");
    probe.arg(keys.probe()).arg(1).arg("PX").arg(1_000);
    let in_cluster = keys.shard().is_some();
    let mut why = RedisFailure::Refused("no server is known".into()).into();
    for server in servers {
        match follow(server, &probe, in_cluster).await {
            Ok(candidate)
                if passed_over
                    .iter()
                    .any(|id| *id == *candidate.replication_id) => {}
            Ok(candidate) => return Ok(candidate),
            Err(failure) => why = failure,
        }
    }
    Err(why)
}

/// The candidate at `server`, or at the server that it redirects to.
async fn follow(
    mut server: ConnectionInfo,
    probe: &Cmd,
    in_cluster: bool,
) -> Result<Candidate, FindMasterError> {
    for _ in 0..MAX_MOVES {
        match Candidate::connect(server.clone(), probe, in_cluster).await {
            Ok(candidate) => return Ok(candidate),
            Err(Unfit::FindMasterError(why)) => return Err(why),
            Err(Unfit::Moved(address)) => {
                server = moved(server, &address).ok_or_else(|| {
                    RedisFailure::Refused(format!("the cluster redirected to `{address}`"))
                })?;
            }
        }
    }
    Err(RedisFailure::Refused("too many redirections within the cluster".into()).into())
}

/// The same account, encryption and so on at another `host:port`; an empty host stands for the same host.
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
        fn a_cluster_redirects_to_a_host_and_a_port_or_nowhere(
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
