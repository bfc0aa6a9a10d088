//! Responses that many routes share, for the OpenAPI document: one type for each requirement of a route.

use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, IntoResponses};

pub use super::ErrorBody;

/// The short code in a path, and its host: `PathCode` reads them.
pub struct CodeParameter;

impl IntoParams for CodeParameter {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all = VisitedCode::into_params(|| None);
        all.extend(DomainParameter::into_params(|| None));
        all
    }
}

/// The short code in a path, from the raw path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "it only describes the parameter")]
pub struct VisitedCode {
    /// Code of a link.
    #[param(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only describes the parameter")]
struct DomainParameter {
    /// The host of the link: one of `GET /domains`. Without it, this service's own.
    #[param(max_length = 260)]
    domain: Option<String>,
}

/// A route that reads a JSON body.
#[derive(IntoResponses)]
pub enum TakesBody {
    /// The body did not arrive in time: ten seconds, unless this service is set up otherwise
    #[response(status = 408, example = json!({"detail": "The body took too long to arrive"}))]
    TooSlow(ErrorBody),
    /// The body is larger than 16 KiB, or than the limit that this service is set up for
    #[response(status = 413, example = json!({"detail": "The body is larger than 16384 bytes"}))]
    TooLarge(ErrorBody),
    /// The body is not a JSON object, or a field is missing or breaks its rule: `detail` names the field, or the place
    /// where the JSON is broken
    #[response(status = 422, examples(
        ("missing" = (value = json!({"detail": "email: field is required"}))),
        ("email" = (value = json!({"detail": "email: this is not a valid e-mail address"}))),
        ("no object" = (value = json!({"detail": "body: must be a JSON object"}))),
        ("broken" = (value = json!({"detail": "body: must be a JSON object, but is malformed at line 3, column 3: a comma or the closing bracket is missing"}))),
    ))]
    Invalid(ErrorBody),
}

/// A route that changes something and needs no token.
#[derive(IntoResponses)]
pub enum TakesNoToken {
    /// A page of another site, or of another host of this site, made a browser send this: `Sec-Fetch-Site` is neither
    /// `same-origin` nor `none`, or without it `Origin` is not this service's
    #[response(status = 403, example = json!({"detail": "Requests from pages of other sites are refused; send this from the service's own pages, or from a program"}))]
    CrossOrigin(ErrorBody),
}

/// A route that reads a query.
#[derive(IntoResponses)]
pub enum TakesQuery {
    /// The head of the request, with the query in it, is larger than 16 KiB, or than the limit that this service is set up for
    #[response(status = 431)]
    HeadTooLong,
    /// The first line of the request, including the query, already exceeds that limit
    #[response(status = 414)]
    TooLong,
}

/// A route that needs a token.
#[derive(IntoResponses)]
pub enum NeedsToken {
    /// The token or key is missing, malformed, expired, revoked or was not issued by this service, or its account was
    /// deleted: the header says which
    #[response(
        status = 401,
        headers(("WWW-Authenticate" = String, description = "`Bearer` without a token; otherwise with `error=\"invalid_token\"` and the reason in `error_description`")),
        example = json!({"detail": "Not authenticated"}),
    )]
    NotAuthenticated(ErrorBody),
}

/// A route that changes something, and takes API keys.
#[derive(IntoResponses)]
pub enum NeedsWriteKey {
    /// The bearer token is a key that may only read, or only create links
    #[response(
        status = 403,
        headers(("WWW-Authenticate" = String, description = "`Bearer error=\"insufficient_scope\"`")),
        example = json!({"detail": "This key is read-only"}),
    )]
    ReadOnly(ErrorBody),
}

/// A route that reads what is the account's, and takes API keys.
#[derive(IntoResponses)]
pub enum NeedsReadKey {
    /// The bearer token is a key that may only create links
    #[response(
        status = 403,
        headers(("WWW-Authenticate" = String, description = "`Bearer error=\"insufficient_scope\"`")),
        example = json!({"detail": "This key can only create links"}),
    )]
    CreateOnly(ErrorBody),
}

/// A route with a limit on its requests.
#[derive(IntoResponses)]
pub enum Limited {
    /// More requests of this kind in this minute, or more whole lists, long pages or searches at once, than the service allows
    #[response(
        status = 429,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again: for most, when the next minute begins")),
        example = json!({"detail": "Too many requests; try again in 23 s"}),
    )]
    TooMany(ErrorBody),
}

/// A public route of one link.
#[derive(IntoResponses)]
pub enum LimitsMisses {
    /// The client's address asked for too many codes that no link has
    #[response(
        status = 429,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again")),
        example = json!({"detail": "Too many requests; try again in 23 s"}),
    )]
    TooMany(ErrorBody),
}

/// A route that makes the database grow.
#[derive(IntoResponses)]
pub enum NeedsRoom {
    /// The database is as large as the operator of this service lets it be: what is deleted makes room
    #[response(status = 507, example = json!({"detail": "This service's database is full, so nothing new can be saved; delete links that are not needed, or ask the operator for more room"}))]
    Full(ErrorBody),
}

/// A route that asks the database.
#[derive(IntoResponses)]
pub enum NeedsDatabase {
    /// A defect of the service: the log names it, the response does not
    #[response(status = 500, example = json!({"detail": "Internal Server Error"}))]
    Defect(ErrorBody),
    /// A dependency of the response cannot be reached, or the service is overloaded
    #[response(
        status = 503,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again")),
        example = json!({"detail": "The service cannot answer this right now; try again"}),
    )]
    NotNow(ErrorBody),
}
