//! A migrated Postgres that each test gets a copy of: a copy takes a quarter of what the migrations take.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::OnceCell;

use super::backend::{admin_url, database_url};
use super::command;

/// The advisory lock for making the template; any number.
const LOCK: i64 = 0x7368_756e_745f_7470;

/// Migrations draw the names by which the service tells databases apart. A copy draws its own.
const NEW_NAMES: &str = "
    UPDATE installation SET id = encode(randomblob(16), 'hex');
    UPDATE database_history SET id = encode(randomblob(16), 'hex')";

static TEMPLATE: OnceCell<String> = OnceCell::const_new();

/// Makes a database with the schema of this version.
pub(crate) async fn create_migrated(name: &str) {
    let template = TEMPLATE.get_or_init(made).await;
    let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
    let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
    run(&mut admin, create).await;
    admin.close().await.unwrap();
    let mut copy = PgConnection::connect(&database_url(name)).await.unwrap();
    run(&mut copy, NEW_NAMES.to_owned()).await;
    copy.close().await.unwrap();
}

/// The name of the template. It is made once for these migrations, also if several programs start at once.
async fn made() -> String {
    let name = format!("shunt_template_{:016x}", hash_of_migrations());
    let mut admin = PgConnection::connect(&admin_url()).await.unwrap();
    run(&mut admin, format!("SELECT pg_advisory_lock({LOCK})")).await;
    let sql = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND NOT datallowconn)";
    let found = sqlx::query_scalar(sql).bind(&name);
    let is_made: bool = found.fetch_one(&mut admin).await.unwrap();
    if !is_made {
        // Of a run that was interrupted.
        run(&mut admin, format!("DROP DATABASE IF EXISTS {name}")).await;
        run(&mut admin, format!("CREATE DATABASE {name}")).await;
        let settings = [("DATABASE_URL".to_owned(), database_url(&name))];
        let migrated = command(&settings).arg("migrate").output().unwrap();
        assert!(migrated.status.success(), "{migrated:?}");
        // The sign that it is whole. And no session can connect to it, which would keep it from being copied.
        let close = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false");
        run(&mut admin, close).await;
    }
    admin.close().await.unwrap();
    name
}

fn hash_of_migrations() -> u64 {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).unwrap().hash(&mut hasher);
    }
    hasher.finish()
}

async fn run(connection: &mut PgConnection, sql: String) {
    let statement = sqlx::raw_sql(AssertSqlSafe(sql));
    statement.execute(connection).await.unwrap();
}
