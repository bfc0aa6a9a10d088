//! What requests carry: the key, the query, and an object of JSON, whatever its content type.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::problem::Problem;
use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::parameters::Parameters;
use crate::compat::services::Services;
use crate::domain::{DomainId, ShortCode, Timestamp};
use crate::http::paths::parse_code;
use crate::http::{BodyLimits, read_body};

/// The account of the key.
pub(super) async fn caller(
    services: &Services,
    asking: &Asking,
    headers: &HeaderMap,
    access: Access,
) -> Result<Caller, Problem> {
    let key = headers.get("x-api-key").and_then(|key| key.to_str().ok());
    let key = key
        .filter(|key| !key.is_empty())
        .ok_or_else(Problem::no_key)?;
    let caller = services.caller(asking, key, access).await;
    caller.map_err(|error| match error.status() {
        StatusCode::UNAUTHORIZED => Problem::wrong_key(),
        _ => error.into(),
    })
}

/// The query; a domain that the service does not have is refused.
pub(super) fn query(services: &Services, raw: Option<&str>) -> Result<Parameters, Problem> {
    let query = Parameters::of_form(raw.unwrap_or_default());
    let query = query.map_err(|why| Problem::invalid("query", why))?;
    domain(services, &query)?;
    Ok(query)
}

/// The domain that a query names.
pub(super) fn domain(services: &Services, query: &Parameters) -> Result<Option<DomainId>, Problem> {
    let Some(name) = query.filled("domain") else {
        return Ok(None);
    };
    let named = domain_named(services, name);
    named.map(Some).ok_or_else(|| Problem::no_domain(name))
}

/// The domain with this name; that of the service itself is also `DEFAULT`.
pub(super) fn domain_named(services: &Services, name: &str) -> Option<DomainId> {
    if name == "DEFAULT" {
        return Some(DomainId::OWN);
    }
    services.site.domain_named(name)
}

/// The code in a path, at the domain of the query.
pub(super) fn code(
    services: &Services,
    id: &str,
    query: Option<&str>,
) -> Result<ShortCode, Problem> {
    let domain = domain(services, &self::query(services, query)?)?;
    let code = parse_code(id).ok_or_else(|| Problem::not_found(id))?;
    Ok(code.at(domain.unwrap_or(DomainId::OWN)))
}

/// The fields of a body; a field that is `null` is there as such.
pub(super) async fn body(request: Request) -> Result<Map<String, Value>, Problem> {
    let limits: BodyLimits = request.extensions().get().copied().unwrap_or_default();
    let body = read_body(request, limits).await?;
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&body)
        .map_err(|_| Problem::malformed("Provided request does not contain a valid JSON body."))
}

/// A moment; one without a time begins its day, and one without a zone is in UTC.
pub(super) fn moment(field: &str, raw: &str) -> Result<Timestamp, Problem> {
    let raw = raw.trim();
    let given = raw.parse::<Timestamp>();
    given
        .or_else(|_| format!("{raw}T00:00:00Z").parse())
        .or_else(|_| format!("{raw}Z").parse())
        .map_err(|_| {
            let detail =
                format!("{field}: must be a date of ISO 8601, such as 2027-01-31T18:00:00+01:00");
            Problem::invalid(field, detail)
        })
}

/// A whole number from 1 on.
pub(super) fn number(query: &Parameters, name: &str, otherwise: u64) -> Result<u64, Problem> {
    let Some(raw) = query.filled(name) else {
        return Ok(otherwise);
    };
    let number = raw.parse().ok().filter(|number| *number > 0);
    number
        .ok_or_else(|| Problem::invalid(name, format!("{name}: must be a whole number from 1 on")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_moment_may_lack_its_time_and_its_zone() {
        for (raw, expected) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T18:00:00", "2027-01-31T18:00:00Z"),
            ("2027-01-31T18:00:00.123+01:00", "2027-01-31T17:00:00.123Z"),
        ] {
            assert_eq!(moment("validSince", raw).unwrap().to_string(), expected);
        }
        assert!(moment("validSince", "tomorrow").is_err());
    }

    proptest! {
        #[test]
        fn no_moment_causes_a_panic(raw in "\\PC{0,40}|[0-9TZ:+-]{0,30}") {
            let _ = moment("validSince", &raw);
        }
    }
}
