//! A path of the service, and the paths that more than one part of the table has.

/// How the requests of a route are answered, and how many of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A redirect: the worker that reads the request answers it, on the fast path if the request is plain. Load never
    /// refuses it.
    Redirect,
    /// Work of the API: it needs a permit before it is dispatched to the main runtime.
    Bounded,
    /// It waits in a queue of its own on the main runtime, as a request does whose password is to be hashed, until its
    /// turn comes or its client leaves.
    Queued,
    /// It is cheap, and answered on the main runtime without a permit.
    Unbounded,
}

/// A path of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The path as the router has it; it is also the label of its requests in metrics and traces.
    pub template: &'static str,
    /// How its requests are answered.
    pub class: Class,
}

/// Pages for people who are signed in begin with this path.
pub(super) const APP: &str = "/app";

/// Where `/{short_code}+` is answered.
pub(super) const PREVIEW: &str = "/app/preview/{short_code}";

pub(super) const ASSETS: &str = "/assets/{file}";

pub(super) const fn route(template: &'static str, class: Class) -> Route {
    Route { template, class }
}
