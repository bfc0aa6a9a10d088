//! What is told of migrations, and to whom.

/// Who brings the schema up to date.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// The instance that opens the database; it reports what it does.
    Migrate(Report),
    /// `shunt migrate`: a schema that lacks something is refused.
    Require,
}

/// Receives each [`Progress`].
pub type Report = fn(&Progress<'_>);

/// What happens to the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// There was nothing to do.
    UpToDate {
        /// The version of the schema.
        version: i64,
    },
    /// A newer program made it, and this one may run on it.
    Newer {
        /// The version of the schema.
        version: i64,
        /// The version that this program would make.
        own: i64,
    },
    /// Some migrations are missing.
    Begins {
        /// The version of the schema; `None` if there is none.
        from: Option<i64>,
        /// The version that it will have.
        to: i64,
    },
    /// A migration is done.
    Applied {
        /// Its number.
        version: i64,
        /// What it is about.
        description: &'a str,
    },
}

/// Writes progress to the log.
pub fn log(progress: &Progress<'_>) {
    match *progress {
        Progress::UpToDate { .. } => {}
        Progress::Newer { version, own } => tracing::info!(
            "the schema is at version {version}, of a newer shunt; this one, of version {own}, may run on it"
        ),
        Progress::Begins { from: None, to } => {
            tracing::info!("the database is empty: making the schema, version {to}");
        }
        Progress::Begins {
            from: Some(from),
            to,
        } => tracing::info!("bringing the schema from version {from} to {to}"),
        Progress::Applied {
            version,
            description,
        } => tracing::debug!("migration {version} ({description}) is done"),
    }
}
