//! Puts the parts together, serves, and stops.
//!
//! There are two kinds of threads. *Workers*, one per core, have a runtime each, on which they read connections and
//! answer redirects. Everything else runs on the *main* runtime (API, database, background jobs), so that it never
//! delays a redirect.
//!
//! | file | what it does |
//! | --- | --- |
//! | `serve` | the start: settings, dependencies, sockets |
//! | `running` | starts, watches and stops all parts |
//! | `app`, `from_settings` | puts the parts together |
//! | `post` | mail |
//! | `jobs` | background jobs |
//! | `listener`, `connections`, `workers`, `http1` | a connection from its acceptance to its responses |
//! | `redirect_worker` | the redirect path of one worker |
//! | `metrics_listener`, `bounded_listener` | metrics on an address of their own |
//! | `startup`, `data_sets`, `redis_recovery`, `parked`, `history` | connect to the database and to Redis |
//! | `first_administrator`, `bound_socket`, `file_limit`, `shutdown`, `error`, `banner`, `risks`, `reload` | what the files above share |

mod account_service;
mod app;
mod banner;
mod bound_socket;
mod bounded_listener;
mod connections;
mod data_sets;
mod error;
mod file_limit;
mod first_administrator;
mod from_settings;
mod history;
mod http1;
mod jobs;
mod listener;
mod metrics_listener;
mod parked;
mod post;
mod redirect_worker;
mod redis_recovery;
mod reload;
mod risks;
mod running;
mod serve;
mod shutdown;
mod startup;
mod workers;

pub use error::ServeError;
pub use from_settings::provider_settings;
pub use parked::{DropError, ParkedError, drop_parked_clicks};
pub use serve::serve;
pub use shutdown::Shutdown;
pub use startup::{administration, migrate};
