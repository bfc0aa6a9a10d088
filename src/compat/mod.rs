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
//! | `yourls`, `kutt`, `shlink` | the rooms |

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
mod shlink;
mod yourls;

pub use services::{Services, Site};

/// These routes, and beside them the rooms that are wanted. The caller puts the layers of every response around them.
pub fn beside(
    routes: Router,
    services: Services,
    wanted: Compat,
    guards: &Guards,
    admission: &Admission,
) -> Router {
    let rooms = rooms(wanted, admission);
    // A form percent-encodes its texts, each byte as three.
    let limits = Extension(BodyLimits {
        bytes: 3 * guards.max_body_bytes,
        timeout: guards.body_timeout,
    });
    routes.merge(rooms.layer(limits).with_state(services))
}

fn rooms(wanted: Compat, admission: &Admission) -> Router<Services> {
    let mut rooms = Router::new();
    if wanted.yourls {
        rooms = rooms.merge(yourls::routes(admission));
    }
    if wanted.kutt {
        rooms = rooms.merge(kutt::routes(admission));
    }
    if wanted.shlink {
        rooms = rooms.merge(shlink::routes(admission));
    }
    rooms
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::http::paths::COMPAT;

    #[tokio::test]
    async fn the_rooms_and_the_table_of_paths_have_the_same_routes() {
        let guards = Guards::smallest();
        let wanted = Compat {
            yourls: true,
            kutt: true,
            shlink: true,
        };
        // Only its `Debug` names the routes of a router.
        let debug = format!("{:?}", rooms(wanted, &Admission::new(&guards)));
        let own = debug.split("fallback_router").next().unwrap_or_default();
        let quoted = own
            .split("RouteId(")
            .filter_map(|id| id.split_once("): \""));
        let served: BTreeSet<_> = quoted
            .filter_map(|(_, path)| Some(path.split_once('"')?.0))
            .collect();
        let table: BTreeSet<_> = COMPAT.iter().map(|route| route.template).collect();
        assert_eq!(served, table);
        assert_eq!(table.len(), COMPAT.len(), "each route is in the table once");
    }
}
