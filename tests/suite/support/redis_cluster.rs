//! A Redis Cluster of a test's own.

use std::process::{Command, Stdio};

use super::redis_server::{RedisServer, free_port};

/// Three masters without replicas, on real ports.
pub(crate) struct RedisCluster {
    pub(crate) masters: Vec<RedisServer>,
}

impl RedisCluster {
    pub(crate) async fn start() -> Self {
        let mut masters = Vec::new();
        for _ in 0..3 {
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
            masters.push(RedisServer::start(&arguments).await);
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
                let mut info = redis::cmd("CLUSTER");
                info.arg("INFO");
                let mut connection = master.connection().await;
                let told: String = info.query_async(&mut connection).await.unwrap();
                if !told.contains("cluster_state:ok") {
                    return false;
                }
            }
            true
        })
        .await;
        cluster
    }

    /// What `REDIS_URL` is set to.
    pub(crate) fn urls(&self) -> String {
        let urls: Vec<_> = self.masters.iter().map(RedisServer::url).collect();
        urls.join(",")
    }
}
