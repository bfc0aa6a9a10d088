//! A Redis Cluster of a test's own.

use std::process::{Command, Stdio};

use super::redis_server::{RedisServer, free_port};

/// Three masters on real ports, without replicas at first.
pub(crate) struct RedisCluster {
    pub(crate) masters: Vec<RedisServer>,
}

/// A server that may become part of a cluster.
async fn start_node() -> RedisServer {
    let bus = free_port().to_string();
    let arguments = [
        "--cluster-enabled",
        "yes",
        "--cluster-port",
        &bus,
        "--cluster-node-timeout",
        "1000",
        // The failure of one master leaves the others in service.
        "--cluster-require-full-coverage",
        "no",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ];
    RedisServer::start(&arguments).await
}

async fn ask(server: &RedisServer, command: &[&str]) -> String {
    let mut asked = redis::cmd(command[0]);
    asked.arg(&command[1..]);
    let mut connection = server.connection().await;
    asked.query_async(&mut connection).await.unwrap()
}

/// Whether a replica has received all the writes of its master.
pub(crate) async fn has_all(replica: &RedisServer, master: &RedisServer) -> bool {
    let received = ask(replica, &["INFO", "replication"]).await;
    let field = |info: &str, name: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(name));
        value.map(str::to_owned)
    };
    let sent = ask(master, &["INFO", "replication"]).await;
    received.contains("master_link_status:up")
        && field(&received, "slave_repl_offset:") == field(&sent, "master_repl_offset:")
}

impl RedisCluster {
    pub(crate) async fn start() -> Self {
        let mut masters = Vec::new();
        for _ in 0..3 {
            masters.push(start_node().await);
        }
        let addresses = masters
            .iter()
            .map(|master| format!("127.0.0.1:{}", master.port()));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .arg("--cluster-yes")
            .stdout(Stdio::null())
            .status();
        assert!(created.unwrap().success());
        let cluster = Self { masters };
        super::eventually("every master knows of a whole cluster", async || {
            for master in &cluster.masters {
                if !ask(master, &["CLUSTER", "INFO"])
                    .await
                    .contains("cluster_state:ok")
                {
                    return false;
                }
            }
            true
        })
        .await;
        cluster
    }

    /// Runs a command on the master that has its key, which is the first argument.
    pub(crate) async fn execute(&self, command: &[&str]) {
        for master in &self.masters {
            let mut redis = redis::cmd(command[0]);
            redis.arg(&command[1..]);
            let mut connection = master.connection().await;
            match redis.exec_async(&mut connection).await {
                Ok(()) => return,
                Err(error) => assert_eq!(error.code(), Some("MOVED"), "{error}"),
            }
        }
        panic!("no master has the key of {command:?}");
    }

    /// Starts a replica of a master and waits until it has all the data of the master.
    pub(crate) async fn replica_of(&self, master: usize) -> RedisServer {
        let master = &self.masters[master];
        let replica = start_node().await;
        let port = master.port().to_string();
        // `… 127.0.0.1:PORT@BUS …`
        let nodes = ask(master, &["CLUSTER", "NODES"]).await;
        let (_, bus) = nodes
            .lines()
            .find(|node| node.contains("myself"))
            .unwrap()
            .split_once('@')
            .unwrap();
        let bus: String = bus.chars().take_while(char::is_ascii_digit).collect();
        let name = ask(master, &["CLUSTER", "MYID"]).await;
        ask(&replica, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus]).await;
        super::eventually("the replica knows its master", async || {
            ask(&replica, &["CLUSTER", "NODES"]).await.contains(&name)
        })
        .await;
        ask(&replica, &["CLUSTER", "REPLICATE", &name]).await;
        super::eventually("the replica has the data of its master", async || {
            has_all(&replica, master).await
        })
        .await;
        replica
    }

    /// The value of `REDIS_URL`.
    pub(crate) fn urls(&self) -> String {
        let urls: Vec<_> = self.masters.iter().map(RedisServer::url).collect();
        urls.join(",")
    }
}
