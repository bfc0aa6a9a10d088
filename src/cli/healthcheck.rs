//! `shunt healthcheck`: whether the service on this machine is ready, as an exit code.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::number::number;
use super::output::{self, harmless};
use shunt::{config, http_client};

use super::Failure;

/// Which service to ask, and what.
#[derive(Args)]
pub(super) struct HealthcheckArgs {
    /// Address the service listens on; for 0.0.0.0 and [::] this machine is asked.
    // A wrong one fails the check with 1, as any setting does: container engines know no exit code but 0 and 1.
    #[arg(
        long,
        env = "BIND",
        default_value = "127.0.0.1:8000",
        value_name = "ADDRESS",
        value_parser = config::bind()
    )]
    bind: SocketAddr,
    /// Ask only whether the process lives (/health), not whether it should get traffic (/ready).
    #[arg(long)]
    live: bool,
    /// How long the response may take.
    #[arg(
        long,
        default_value_t = 2,
        value_name = "SECONDS",
        value_parser = number(1..=300_u64)
    )]
    timeout: u64,
}

/// Asks; anything but a 200 is a failure.
pub(super) fn ask(args: &HealthcheckArgs) -> Result<(), Failure> {
    let address = reachable(args.bind)?;
    let path = if args.live { "health" } else { "ready" };
    let url = format!("http://{address}/{path}");
    let agent = http_client::local_agent(Duration::from_secs(args.timeout));
    let mut response = agent
        .get(&url)
        .call()
        .map_err(|error| Failure::Failed(format!("{url}: {}", http_client::fault(&error))))?;
    let body = response.body_mut().read_to_string().unwrap_or_default();
    if response.status() == 200 {
        let status = serde_json::from_str::<Value>(&body).unwrap_or_default();
        writeln!(
            output::stdout(),
            "{}",
            status["status"].as_str().unwrap_or("ok")
        )?;
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{url} answered {}: {}",
        response.status().as_u16(),
        harmless(&body)
    )))
}

/// The address at which a listener can be reached from the same machine.
fn reachable(mut address: SocketAddr) -> Result<SocketAddr, Failure> {
    if address.port() == 0 {
        return Err(Failure::Failed(
            "BIND: port 0 means any free port; give the port that the service uses".into(),
        ));
    }
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use shunt::config::Config;

    use super::*;

    #[test]
    fn a_listener_on_every_address_is_asked_on_this_machine() {
        for (bind, asked) in [
            ("0.0.0.0:8000", "127.0.0.1:8000"),
            ("[::]:8000", "[::1]:8000"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            let bind = bind.parse().unwrap();
            assert_eq!(reachable(bind).ok(), asked.parse().ok(), "{bind}");
        }
        assert!(reachable("127.0.0.1:0".parse().unwrap()).is_err());
    }

    #[test]
    fn where_nothing_is_set_the_check_asks_where_the_service_listens() {
        let default = |command: Command| {
            let bind = command.get_arguments().find(|arg| arg.get_id() == "bind");
            bind.map(|arg| arg.get_default_values().to_vec())
        };
        assert_eq!(
            default(HealthcheckArgs::augment_args(Command::new("check"))),
            default(Config::augment_args(Command::new("serve")))
        );
    }
}
