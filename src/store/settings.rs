//! The settings with which a database is opened.

use std::time::Duration;

use super::migrations::Schema;

/// How a database is used.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Connections at once.
    pub max_connections: u32,
    /// With Postgres: how long one operation may take, with the time it waits for a connection. With SQLite: how long an
    /// operation waits for a connection.
    pub deadline: Duration,
    /// Who brings its schema up to date.
    pub schema: Schema,
}
