//! Reads the secrets that are kept in files, and checks that the settings agree with each other.

use super::mail::smtp;
use super::parse::{collector, database, jwt_secret, postgres, redis_urls};
use super::{Config, ConfigError, DatabaseUrl};
use crate::domain::{Limits, StatementKey};

impl Config {
    /// The same settings with those that are kept in files, where all of them agree with each other.
    ///
    /// # Errors
    /// The first that does not.
    pub fn checked(self) -> Result<Self, ConfigError> {
        let config = self.with_secret_files()?;
        config.agreeing()
    }

    fn with_secret_files(mut self) -> Result<Self, ConfigError> {
        let files = self.secret_files.clone();
        let is_given = !self.database.is_default();
        if let Some(value) = files.value("DATABASE_URL", is_given, database)? {
            self.database = value;
        }
        files.fill("DATABASE_REPLICA_URL", &mut self.database_replica, postgres)?;
        files.fill("REDIS_URL", &mut self.redis, redis_urls)?;
        files.fill("JWT_SECRET", &mut self.jwt_secret, jwt_secret)?;
        let previous = &mut self.jwt_secret_previous;
        files.fill("JWT_SECRET_PREVIOUS", previous, jwt_secret)?;
        files.fill("SMTP_URL", &mut self.mail.smtp, smtp)?;
        let statement_key = &mut self.statements.statement_key;
        files.fill("STATEMENT_KEY", statement_key, StatementKey::parse)?;
        let collector_of_traces = &mut self.otlp_endpoint;
        files.fill(
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            collector_of_traces,
            collector,
        )?;
        self.oidc.fill(&files)?;
        Ok(self)
    }

    fn agreeing(self) -> Result<Self, ConfigError> {
        let wrong = |name, fault: &str| Err(ConfigError::new(name, fault));
        if self.database_replica.is_some() {
            let name = "DATABASE_REPLICA_URL";
            if matches!(self.database, DatabaseUrl::Sqlite(_)) {
                let fault = "SQLite has no replica; unset it, or give a DATABASE_URL of Postgres";
                return wrong(name, fault);
            }
            if self.redis.is_none() {
                let fault =
                    "without Redis it is unknown whether a replica is behind; set REDIS_URL, too";
                return wrong(name, fault);
            }
        }
        self.administrator.agree()?;
        self.mail.agree()?;
        self.oidc.check()?;
        if self.metrics_bind == Some(self.bind) && self.bind.port() != 0 {
            return wrong("METRICS_BIND", "is the address of BIND; give another port");
        }
        Ok(self)
    }

    /// What accounts and addresses may do.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            login: self.limit_login,
            failures_from_address: self.limit_login_failures,
            failures_of_account: self.limit_account_failures,
            register: self.limit_register,
            accounts_per_day: self.limit_register_day,
            create: self.limit_create,
            link_bytes_per_day: self.limit_create_day_mib,
            misses: self.limit_misses,
            links_per_account: self.links_per_account,
        }
    }
}
