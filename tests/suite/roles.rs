//! A role of Postgres for the service that cannot change the schema, which `shunt migrate` does as its owner.

use std::process::Stdio;
use std::sync::Arc;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::suite::pgbouncer::uses_everything;
use crate::support::{App, Backend, Server, admin_url, command, refused, unique};

/// What `deploy/` gives to the roles, whose names are those of one database there.
const ROLES: &str = include_str!("../../deploy/postgres/10-roles.sql");

/// Clients at once.
const CLIENTS: usize = 4;

/// A database with an owner and a role of the service.
struct Owned {
    backend: Backend,
    owner: String,
    service: String,
}

impl Owned {
    async fn new() -> Self {
        let backend = Backend::empty("").await;
        let owner = format!("owner_{}", unique());
        let service = format!("service_{}", unique());
        let database = url_of(&backend);
        let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
        let name = database.path().trim_start_matches('/');
        let own_it = format!("CREATE ROLE {owner} LOGIN; ALTER DATABASE {name} OWNER TO {owner}");
        run(&mut admin, own_it).await;
        let mut within = PgConnection::connect(database.as_str()).await.unwrap();
        let roles = ROLES
            .replace("shunt_service", &service)
            .replace("FOR ROLE shunt ", &format!("FOR ROLE {owner} "));
        run(&mut within, roles).await;
        Self {
            backend,
            owner,
            service,
        }
    }

    /// The settings of an instance with this role.
    fn settings_as(&self, role: &str) -> Vec<(String, String)> {
        let mut url = url_of(&self.backend);
        url.set_username(role).unwrap();
        let mut settings = self.backend.settings();
        settings.extend([
            ("DATABASE_URL".to_owned(), url.to_string()),
            ("NO_MIGRATE".to_owned(), "true".to_owned()),
        ]);
        settings
    }

    /// Removes the roles of a database that is gone.
    async fn remove_roles(owner: &str, service: &str) {
        let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
        run(&mut admin, format!("DROP ROLE {service}, {owner}")).await;
    }

    fn migrate(&self) {
        let mut migrate = command(&self.settings_as(&self.owner));
        let migrated = migrate.arg("migrate").stdout(Stdio::null()).status();
        assert!(migrated.unwrap().success(), "NO_MIGRATE is for instances");
    }
}

fn url_of(backend: &Backend) -> url::Url {
    let settings = backend.settings();
    let (_, url) = settings
        .iter()
        .find(|(name, _)| name == "DATABASE_URL")
        .unwrap();
    url::Url::parse(url).unwrap()
}

async fn run(connection: &mut PgConnection, sql: String) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
    done.unwrap();
}

/// Everything works for a role that may only read and write rows, and call functions.
async fn works_without_rights_to_the_schema(extra: &[(&str, &str)]) {
    let owned = Owned::new().await;
    let mut settings = owned.settings_as(&owned.service);
    settings.push(("FLUSH_INTERVAL_MS".to_owned(), "20".to_owned()));
    // Redis is away for none of them, however busy the machine is.
    settings.push(("CLICK_DEADLINE_MS".to_owned(), "20000".to_owned()));
    let extra = extra
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    settings.extend(extra);
    let ended = refused(&settings);
    assert_eq!(ended.status.code(), Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("DATABASE_URL: the database has no schema"),
        "{last}"
    );
    assert!(last.contains("shunt migrate"), "{last}");

    owned.migrate();
    let (first, second) = tokio::join!(Server::start(&settings), Server::start(&settings));
    let mut as_service = url_of(&owned.backend);
    as_service.set_username(&owned.service).unwrap();
    let mut as_service = PgConnection::connect(as_service.as_str()).await.unwrap();
    for change in [
        "CREATE TABLE more (id bigint)",
        "ALTER TABLE links ADD COLUMN more text",
    ] {
        let change = sqlx::raw_sql(change).execute(&mut as_service).await;
        let error = change.unwrap_err();
        let code = error
            .as_database_error()
            .unwrap()
            .code()
            .unwrap()
            .into_owned();
        assert_eq!(code, "42501", "the role changes the schema");
    }

    let app = Arc::new(App::of(owned.backend, first));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let app = Arc::clone(&app);
            tokio::spawn(async move { uses_everything(&app).await })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let code = app
        .shorten(&app.register().await, "https://example.org/")
        .await;
    assert_eq!(second.follow(&code).await, 302);
    assert_eq!(app.clicks(&code).await, 1);
    for log in [app.server.log(), second.log()] {
        assert!(!log.contains("permission denied"), "{log}");
    }
    drop(second);
    drop(as_service);
    Arc::into_inner(app)
        .expect("every client is done")
        .finish()
        .await;
    Owned::remove_roles(&owned.owner, &owned.service).await;
}

#[tokio::test]
async fn everything_works_for_a_role_that_cannot_change_the_schema() {
    works_without_rights_to_the_schema(&[]).await;
}

#[tokio::test]
async fn everything_works_for_a_role_that_cannot_change_the_schema_without_redis() {
    works_without_rights_to_the_schema(&[("REDIS_URL", "")]).await;
}

#[tokio::test]
async fn a_role_that_cannot_change_the_schema_needs_no_setting_once_it_is_complete() {
    let owned = Owned::new().await;
    owned.migrate();
    let mut settings = owned.settings_as(&owned.service);
    settings.retain(|(name, _)| name != "NO_MIGRATE");
    let server = Server::start(&settings).await;
    assert_eq!(server.follow("unseen").await, 404);
    drop(server);
    owned.backend.remove().await;
    Owned::remove_roles(&owned.owner, &owned.service).await;
}
