//! Commands for operators of the service.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::support::{Service, run, shunt};

#[test]
fn a_health_check_is_0_where_the_service_is_ready_and_1_where_it_is_not() {
    let service = Service::start();
    let check = |line: &[&str]| {
        let mut command = shunt();
        command.arg("healthcheck").args(line);
        command.env("BIND", service.address());
        // Requests to this machine go past the proxy.
        command.env("http_proxy", "http://127.0.0.1:1");
        run(&mut command, "")
    };
    assert_eq!(check(&[]).line(), "ready");
    assert_eq!(check(&["--live"]).line(), "ok");
    check(&["--bind", "127.0.0.1:1"]).fails(1, "http://127.0.0.1:1/ready");
    check(&["--bind", "here"]).fails(1, "BIND");
}

#[test]
fn a_health_check_does_not_wait_for_a_service_that_hangs() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let line = ["healthcheck", "--timeout", "1", "--bind", &address];
    run(shunt().args(line), "").fails(1, "no answer in time");
}

#[test]
fn the_settings_in_force_are_printed_without_their_secrets() {
    let mut command = shunt();
    command.args(["config", "--json", "--redis-prefix", "mine"]);
    command.env(
        "DATABASE_URL",
        "postgres://me:s3cret-1@db:5432/shunt?sslmode=require",
    );
    command.env(
        "DATABASE_REPLICA_URL",
        "postgres://me:s3cret-4@replica/shunt?password=s3cret-5",
    );
    command.env("REDIS_URL", "rediss://:s3cret-2@redis:6379");
    command.env("JWT_SECRET", "s3cret-3".repeat(4));
    command.env("BIND", "0.0.0.0:9000");
    let table = {
        command.env("WORKERS", "3");
        run(&mut command, "")
    };
    assert!(!table.out.contains("s3cret"), "{table:?}");
    let settings = table.json();
    let is = |name: &str, value: &str, from: &str| {
        let setting = &settings[name];
        assert_eq!(
            (&setting["value"], &setting["from"]),
            (&value.into(), &from.into()),
            "{name}"
        );
    };
    is("BIND", "0.0.0.0:9000", "environment");
    is("BASE_URL", "http://0.0.0.0:9000", "default");
    is(
        "DATABASE_URL",
        "postgres://me:***@db:5432/shunt?sslmode=require",
        "environment",
    );
    is(
        "DATABASE_REPLICA_URL",
        "postgres://me:***@replica/shunt?password=***",
        "environment",
    );
    is("REDIS_URL", "rediss://:***@redis:6379", "environment");
    is("REDIS_PREFIX", "mine", "flag");
    is("JWT_SECRET", "***", "environment");
    is("WORKERS", "3", "environment");
    is("RUST_LOG", "info", "default");
    assert!(settings["METRICS_BIND"]["value"].is_null());
}

#[test]
fn the_settings_are_a_table_without_json() {
    let table = run(shunt().arg("config").env("LIMIT_LOGIN", "7"), "").succeeds();
    let line = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name));
        line.unwrap().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("SETTING"), ["SETTING", "FROM", "VALUE"]);
    assert_eq!(line("LIMIT_LOGIN"), ["LIMIT_LOGIN", "environment", "7"]);
    assert_eq!(line("REDIS_URL"), ["REDIS_URL", "default", "(not", "set)"]);
    let column = |line: &str| line.find("environment").or(line.find("default"));
    let columns: Vec<_> = table.lines().skip(1).map(column).collect();
    assert!(columns.iter().all(|at| at == &columns[0]), "{table}");
}

#[test]
fn a_wrong_setting_is_named_by_config_as_by_a_start() {
    for command in ["config", "serve", "migrate", "drop-parked-clicks"] {
        run(shunt().args([command, "--workers", "0"]), "")
            .fails(1, "WORKERS: must be a whole number");
        let misuse = run(shunt().args([command, "--no-such-flag"]), "");
        assert_eq!(misuse.code, 2, "{misuse:?}");
    }
}

#[test]
fn a_wrong_secret_is_named_and_not_shown() {
    let secret = "s3cret";
    for (variable, flag, value) in [
        ("JWT_SECRET", "--jwt-secret", "s3cret"),
        ("STATEMENT_KEY", "--statement-key", "s3cret"),
        ("DATABASE_URL", "--database-url", "postgres://me:s3cret#@db"),
        ("DATABASE_URL", "--database-url", "postgers://me:s3cret@db"),
        (
            "DATABASE_REPLICA_URL",
            "--database-replica-url",
            "postgers://me:s3cret@db",
        ),
        ("REDIS_URL", "--redis-url", "rdiss://:s3cret@redis"),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "--otlp-endpoint",
            "grpc://me:s3cret@traces",
        ),
        ("BASE_URL", "--base-url", "https://me:s3cret@sho.rt"),
    ] {
        for command in ["config", "serve", "migrate", "drop-parked-clicks"] {
            for finished in [
                run(shunt().arg(command).env(variable, value), ""),
                run(shunt().args([command, flag, value]), ""),
                run(shunt().args([command, &format!("{flag}={value}")]), ""),
            ] {
                finished.fails(1, &format!("shunt: {variable}: "));
                assert!(!finished.err.contains(secret), "{finished:?}");
            }
        }
    }
}

#[test]
fn a_wrong_setting_of_the_service_does_not_stop_other_commands() {
    for command in [&["completions", "bash"][..], &["man"], &["--version"]] {
        run(shunt().args(command).env("WORKERS", "0"), "").succeeds();
    }
    let ended = run(shunt().args(["list", "--json"]).env("WORKERS", "0"), "");
    assert_eq!(ended.code, 3, "{ended:?}");
    run(shunt().env("WORKERS", "0"), "").fails(1, "WORKERS: must be a whole number");
}

#[test]
fn migrate_leaves_the_database_complete_in_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let database = format!("sqlite://{}", path.display());
    let finished = run(shunt().args(["migrate", "--database-url", &database]), "");
    assert_eq!(finished.code, 0, "{finished:?}");
    assert!(path.exists());
    let log = std::fs::metadata(folder.path().join("shunt.db-wal"));
    assert_eq!(log.map_or(0, |log| log.len()), 0);
}

#[test]
fn migrate_says_which_database_it_is_and_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shunt.db");
    let database = format!("sqlite://{}", path.display());
    let migrate = |arguments: &[&str]| {
        let mut command = shunt();
        command.args(["migrate", "--database-url", &database]);
        run(command.args(arguments), "").succeeds()
    };
    let first = migrate(&[]);
    let lines: Vec<_> = first.lines().collect();
    assert_eq!(lines[0], format!("database: SQLite, in {}", path.display()));
    assert!(lines[1].starts_with("empty: creating version "), "{first}");
    assert_eq!(lines[2].trim(), "1  baseline", "{first}");
    let newest = lines[1].trim_start_matches("empty: creating version ");
    let last = lines.last().unwrap().trim();
    assert!(last.starts_with(newest), "{first}");
    let again = migrate(&[]);
    let again: Vec<_> = again.lines().collect();
    assert_eq!(again[1..], [format!("already at version {newest}")]);
    let json = migrate(&["--log-format", "json"]);
    let json: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(json[1]["up_to_date"].to_string(), newest);
}

#[test]
fn migrate_hides_the_password_of_the_database() {
    let mut command = shunt();
    command.args([
        "migrate",
        "--database-url",
        "postgres://me:s3cret@127.0.0.1:9/shunt",
    ]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(line, "database: postgres://me:***@127.0.0.1:9/shunt\n");
}

#[test]
fn a_flag_is_given_alone_or_with_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    for (arguments, shows) in [
        (&["--no-migrate"][..], "true"),
        (&["--no-migrate=no"], "no"),
        (&[], "1"),
    ] {
        let mut command = shunt();
        command
            .args(["config", "--database-url", &database])
            .args(arguments);
        let table = run(command.env("NO_MIGRATE", "1"), "").succeeds();
        let row = table
            .lines()
            .find(|line| line.starts_with("NO_MIGRATE"))
            .unwrap();
        assert_eq!(row.split_whitespace().last(), Some(shows), "{table}");
    }
    let mut command = shunt();
    command
        .args(["serve", "--database-url", &database])
        .env("NO_MIGRATE", "perhaps");
    run(&mut command, "").fails(1, "NO_MIGRATE: must be true or false, not `perhaps`");
}

#[test]
fn a_setting_that_is_empty_in_the_environment_counts_as_not_given() {
    let variables = ["BIND", "REDIS_URL", "LOG_FORMAT", "WORKERS"];
    for command in ["config", "serve"] {
        let mut command_line = shunt();
        command_line.envs(variables.map(|name| (name, "")));
        command_line.args([command, "--limit-login", "many"]);
        run(&mut command_line, "").fails(1, "LIMIT_LOGIN: must be a whole number");
    }
    let mut config = shunt();
    config.arg("config").envs(variables.map(|name| (name, "")));
    let table = run(&mut config, "").succeeds();
    let bind = table.lines().find(|line| line.starts_with("BIND")).unwrap();
    let bind: Vec<_> = bind.split_whitespace().collect();
    assert_eq!(bind, ["BIND", "default", "127.0.0.1:8000"]);
    // If it was meant for Postgres, a start would create a new file.
    run(shunt().arg("config").env("DATABASE_URL", ""), "").fails(1, "DATABASE_URL: must be");
}

#[test]
fn shells_complete_every_command_and_the_manual_knows_it() {
    let commands = [
        "serve",
        "migrate",
        "drop-parked-clicks",
        "config",
        "healthcheck",
        "register",
        "login",
        "logout",
        "whoami",
        "password",
        "keys",
        "shorten",
        "list",
        "stats",
        "rm",
    ];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(shunt().args(["completions", shell]), "").succeeds();
        for command in commands {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    let manual = run(shunt().arg("man"), "").succeeds();
    assert!(manual.contains(".TH shunt 1"), "{manual}");
    assert!(manual.contains("Exit codes"), "{manual}");
    for command in commands {
        assert!(
            manual.contains(&format!("shunt\\-{}(1)", command.replace('-', "\\-"))),
            "{command}"
        );
        let page = run(shunt().args(["man", command]), "").succeeds();
        assert!(page.contains(&format!(".TH shunt-{command} 1")), "{page}");
    }
    let page = run(shunt().args(["man", "keys", "create"]), "").succeeds();
    assert!(page.contains(".TH shunt-keys-create 1"), "{page}");
    run(shunt().args(["man", "nothing"]), "").fails(2, "no command `nothing`");
    let nothing = run(shunt().args(["man", "keys", "nothing"]), "");
    nothing.fails(2, "no command `keys nothing`");
}

#[test]
fn help_shows_exit_codes_and_no_secret_of_the_environment() {
    for line in [&["--help"][..], &["list", "--help"], &["serve", "--help"]] {
        let mut command = shunt();
        command.args(line);
        command.env("JWT_SECRET", "s3cret-1");
        command.env("DATABASE_URL", "postgres://me:s3cret-2@db/shunt");
        command.env("DATABASE_REPLICA_URL", "postgres://me:s3cret-4@db/shunt");
        command.env("REDIS_URL", "redis://:s3cret-3@redis");
        let help = run(&mut command, "").succeeds();
        assert!(!help.contains("s3cret"), "{help}");
        assert!(help.contains("Exit codes:"), "{help}");
    }
}

#[test]
fn the_short_help_has_the_commands_of_clients_and_five_settings() {
    let short = run(shunt().arg("-h"), "").succeeds();
    let long = run(shunt().arg("--help"), "").succeeds();
    let commands = |help: &str| {
        let from = help.split_once("Commands:\n").unwrap().1;
        let lines = from.lines().take_while(|line| line.starts_with("  "));
        let words = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    let of_clients = [
        "register",
        "login",
        "logout",
        "whoami",
        "password",
        "keys",
        "groups",
        "shorten",
        "list",
        "show",
        "edit",
        "stats",
        "events",
        "statement",
        "verify",
        "qr",
        "open",
        "export",
        "import",
        "pool",
        "tags",
        "mcp",
        "rm",
    ];
    assert_eq!(commands(&short), of_clients);
    for command in of_clients
        .iter()
        .chain(&["serve", "migrate", "config", "healthcheck", "man"])
    {
        assert!(
            commands(&long).iter().any(|known| known == command),
            "{command}: {long}"
        );
    }
    let settings = |help: &str| help.matches("[env:").count();
    assert_eq!(settings(&short), 5, "{short}");
    for name in [
        "BIND",
        "BASE_URL",
        "DATABASE_URL",
        "REDIS_URL",
        "JWT_SECRET",
    ] {
        let words: Vec<_> = short.split_whitespace().collect();
        let is_named = words.join(" ").contains(&format!("[env: {name}"));
        assert!(is_named, "{name}: {short}");
    }
    assert!(settings(&long) > 30, "{long}");
    assert!(short.lines().count() <= 40, "one screen: {short}");
    assert!(short.contains("shunt --help"), "{short}");
    let of_serve = run(shunt().args(["serve", "-h"]), "").succeeds();
    assert_eq!(settings(&of_serve), 5, "{of_serve}");
    // What is not listed is there all the same.
    run(shunt().args(["config", "--limit-login", "7"]), "").succeeds();
}

#[test]
fn each_command_says_which_exit_codes_it_has() {
    for (command, codes) in [
        ("healthcheck", "012"),
        ("serve", "012"),
        ("migrate", "012"),
        ("config", "012"),
        ("list", "01235"),
        ("stats", "01245"),
        ("statement", "012345"),
        ("verify", "012"),
        ("register", "01235"),
        ("rm", "012345"),
        ("logout", "01235"),
        ("keys", "012345"),
        ("keys create", "01235"),
        ("keys delete", "012345"),
        ("pool", "012345"),
        ("pool add", "012345"),
        ("tags", "012345"),
        ("tags rm", "012345"),
    ] {
        let words = command.split(' ').chain(["--help"]);
        let help = run(shunt().args(words), "").succeeds();
        let said = help
            .split_once("Exit codes:\n")
            .map_or("", |(_, codes)| codes);
        let said: String = said
            .lines()
            .filter_map(|line| line.trim().chars().next())
            .collect();
        assert_eq!(said, codes, "{command}: {help}");
    }
}

#[test]
fn the_first_lines_of_a_service_can_be_pasted() {
    let service = Service::start();
    let base = &service.base;
    let lines = service.banner_up_to("urls/shorten");
    let home = tempfile::tempdir().unwrap();
    let shell = |line: &str, input: &str| {
        let mut shell = Command::new("sh");
        let folder = Path::new(env!("CARGO_BIN_EXE_shunt")).parent().unwrap();
        shell
            .args(["-ec", line])
            .env_clear()
            .env("HOME", home.path());
        shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
        run(&mut shell, input)
    };
    let pasted = |from: &str| {
        let lines = lines.iter().skip_while(|line| !line.contains(from));
        let lines = lines.take_while(|line| line.starts_with("  ")).cloned();
        lines.collect::<Vec<_>>().join("\n")
    };
    let with_client = pasted("shunt register");
    assert_eq!(with_client.lines().count(), 2, "{lines:?}");
    let finished = shell(&with_client, "correct horse\n").succeeds();
    let link = finished.lines().last().unwrap();
    assert!(link.starts_with(&format!("{base}/")), "{finished}");
    assert!(service.follow(link).contains("302 Found"), "{finished}");
    let login = |line: String| line.replace("/auth/register", "/auth/login");
    let with_curl = login(pasted("TOKEN=").replace("curl -s", "curl -sS"));
    let made: serde_json::Value = serde_json::from_str(&shell(&with_curl, "").succeeds()).unwrap();
    assert_eq!(made["is_active"], true, "{made}");
}

#[test]
fn the_first_lines_name_an_address_that_leads_there() {
    let public = Service::start_with(&[("BASE_URL", "https://sho.rt")]);
    let lines = public.banner_up_to("urls/shorten").join("\n");
    assert!(lines.contains("--server https://sho.rt"), "{lines}");
    let everywhere = Service::start_with(&[("BIND", "0.0.0.0:0")]);
    let lines = everywhere.banner_up_to("urls/shorten").join("\n");
    assert!(
        lines.contains("http://127.0.0.1:") && !lines.contains("0.0.0.0"),
        "{lines}"
    );
}

#[test]
fn a_setting_that_is_not_utf8_is_named() {
    use std::os::unix::ffi::OsStrExt;

    let mut command = shunt();
    command.env("BASE_URL", std::ffi::OsStr::from_bytes(b"http://\xff"));
    let finished = run(&mut command, "");
    assert_eq!(
        (finished.code, finished.err.as_str()),
        (1, "shunt: BASE_URL: is not UTF-8 text\n")
    );
}
