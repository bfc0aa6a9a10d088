//! A Redis Cluster of a test's own.

use std::process::{Command, Stdio};

use super::redis_server::{RedisServer, free_port};

/// Three masters on real ports; without replicas until one is asked for.
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
        // One master's failure is no other's.
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

/// Whether a replica has taken in everything that its master did so far.
pub(crate) async fn has_all(replica: &RedisServer, master: &RedisServer) -> bool {
    let told = ask(replica, &["INFO", "replication"]).await;
    let field = |told: &str, name: &str| {
        let value = told.lines().find_map(|line| line.strip_prefix(name));
        value.map(str::to_owned)
    };
    let given = ask(master, &["INFO", "replication"]).await;
    told.contains("master_link_status:up")
        && field(&told, "slave_repl_offset:") == field(&given, "master_repl_offset:")
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

    /// A replica of a master, which has all that the master has.
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
        super::eventually("the replica has what its master has", async || {
            has_all(&replica, master).await
        })
        .await;
        replica
    }

    /// What `REDIS_URL` is set to.
    pub(crate) fn urls(&self) -> String {
        let urls: Vec<_> = self.masters.iter().map(RedisServer::url).collect();
        urls.join(",")
    }
}
