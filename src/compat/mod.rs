//! The APIs of other shorteners, for the clients that exist: one room for each, over the services of this program. None of
//! their words leaves its room.
//!
//! | file | what it does |
//! | --- | --- |
//! | `services` | what the rooms stand on |
//! | `address` | addresses as people write them |
//! | `caller` | the account of a key |
//! | `existing` | a link that is there already |
//! | `parameters` | queries, forms, parts and objects of JSON as texts |
//! | `said` | answers in the words of a protocol |
//! | `sentence` | refusals with the protocol's names of fields |
//! | `yourls`, `kutt` | the rooms |

use axum::{Extension, Router};

use crate::config::{Compat, Guards};
use crate::http::{Admission, BodyLimits};

mod address;
mod caller;
mod existing;
mod kutt;
mod parameters;
mod said;
mod sentence;
mod services;
mod yourls;

pub use services::{Services, Site};

/// The rooms that are wanted. The caller puts the layers of every response around them.
pub fn router(
    services: Services,
    wanted: Compat,
    guards: &Guards,
    admission: &Admission,
) -> Router {
    let mut rooms = Router::new();
    if wanted.yourls {
        rooms = rooms.merge(yourls::routes(admission));
    }
    if wanted.kutt {
        rooms = rooms.merge(kutt::routes(admission));
    }
    // A form percent-encodes its texts, each byte as three.
    rooms
        .layer(Extension(BodyLimits {
            bytes: 3 * guards.max_body_bytes,
            timeout: guards.body_timeout,
        }))
        .with_state(services)
}
