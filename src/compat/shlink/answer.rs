//! Answers: links and pages as the protocol has them.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::problem::Problem;
use crate::compat::said::said;
use crate::compat::services::Services;
use crate::domain::{Link, MaxClicks, Timestamp, Title};
use crate::http::Json;

/// An answer with a body.
pub(super) fn answered(answer: Result<Value, Problem>) -> Response {
    match answer {
        Ok(body) => said(Json(body).into_response()),
        Err(problem) => problem.response(),
    }
}

/// An answer without one.
pub(super) fn done(answer: Result<(), Problem>) -> Response {
    match answer {
        Ok(()) => said(StatusCode::NO_CONTENT.into_response()),
        Err(problem) => problem.response(),
    }
}

/// A link.
pub(super) fn short_url(services: &Services, link: &Link, clicks: u64) -> Value {
    let properties = &link.properties;
    json!({
        "shortCode": link.code.as_str(),
        "shortUrl": services.site.short_url(&link.code),
        "longUrl": properties.target.as_str(),
        "dateCreated": atom(link.created_at),
        "visitsSummary": visits(clicks),
        "tags": properties.tags.as_slice(),
        "meta": {
            "validSince": properties.starts_at.map(atom),
            "validUntil": properties.expires_at.map(atom),
            "maxVisits": properties.max_clicks.map(MaxClicks::number),
        },
        "domain": services.site.host_of(&link.code),
        "title": properties.title.as_ref().map(Title::as_str),
        "crawlable": !properties.noindex,
        "forwardQuery": properties.forward_query,
        "hasRedirectRules": properties.rules.is_some(),
    })
}

/// Visits in all. Bots are not told apart in these numbers.
pub(super) fn visits(clicks: u64) -> Value {
    json!({"total": clicks, "nonBots": clicks, "bots": 0})
}

/// Which page of a list is shown, and how long the list is.
pub(super) fn pagination(page: u64, size: u64, shown: usize, total: u64) -> Value {
    json!({
        "currentPage": page,
        "pagesCount": total.div_ceil(size.max(1)).max(1),
        "itemsPerPage": size,
        "itemsInCurrentPage": shown,
        "totalItems": total,
    })
}

/// `2027-01-31T17:00:00+00:00`.
pub(super) fn atom(at: Timestamp) -> String {
    let text = at.with_micros();
    let end = text.len().saturating_sub(".123456Z".len());
    format!("{}+00:00", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_to_the_second_in_utc() {
        let at: Timestamp = "2027-01-31T18:00:00.5+01:00".parse().unwrap();
        assert_eq!(atom(at), "2027-01-31T17:00:00+00:00");
    }

    #[test]
    fn a_list_has_at_least_one_page() {
        assert_eq!(pagination(1, 10, 0, 0)["pagesCount"], 1);
        assert_eq!(pagination(2, 10, 1, 11)["pagesCount"], 2);
        assert_eq!(pagination(2, 10, 10, 20)["pagesCount"], 2);
    }
}
