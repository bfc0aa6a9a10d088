//! Links from elsewhere: a custom uploader of `ShareX`, and the manifest by which phones and computers share addresses with the
//! service.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::account::{Answer, FormOf, page};
use super::assets::paths;
use super::form::Form;
use super::page::Site;
use super::prefilled::NEW_LINK;
use super::session::SignedIn;
use crate::accounts::Accounts;
use crate::domain::{KeyName, Scope};
use crate::http::{ApiError, ClientAddress};

/// `GET /app/manifest.webmanifest`: the pages as an app, to which other apps share addresses.
pub(super) async fn manifest(State(site): State<Site>) -> Response {
    let manifest = json!({
        "id": "/app",
        "name": site.name(),
        "short_name": site.name(),
        "start_url": "/app",
        "scope": "/app",
        "display": "minimal-ui",
        "icons": [{ "src": paths().mark, "sizes": "any", "type": "image/svg+xml" }],
        "share_target": {
            "action": NEW_LINK,
            "method": "GET",
            "enctype": "application/x-www-form-urlencoded",
            "params": { "title": "title", "text": "text", "url": "target_url" },
        },
    });
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/manifest+json"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, format!("{manifest:#}\n")).into_response()
}

/// Makes a key that only creates links, and a file with it that `ShareX` opens. The key is in no page.
pub(super) async fn share_x(
    State(accounts): State<Arc<Accounts>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let made = async {
        let name =
            KeyName::parse("ShareX").map_err(|error| ApiError::invalid(error.to_string()))?;
        let owner = signed_in.person;
        let key = accounts.create_key(client.as_str(), owner, &name, Scope::Create, None);
        Ok::<_, ApiError>(key.await?.1)
    };
    match made.await {
        Ok(key) => Ok(file(site.base_url(), &key)),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let refused = Answer::Refused(FormOf::Key, &error);
            page(&accounts, &site, &signed_in, "", refused).await
        }
    }
}

/// A custom uploader of `ShareX`, from version 14 on.
fn file(base_url: &str, key: &str) -> Response {
    let uploader = json!({
        "Version": "14.1.0",
        "DestinationType": "URLShortener",
        "RequestMethod": "POST",
        "RequestURL": format!("{base_url}/urls/shorten"),
        "Headers": { "Authorization": format!("Bearer {key}") },
        "Body": "JSON",
        "Data": "{\"target_url\":\"{input}\"}",
        "URL": format!("{base_url}/{{json:short_code}}"),
        "ErrorMessage": "{json:detail}",
    });
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/octet-stream"),
        ),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"shunt.sxcu\""),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, format!("{uploader:#}\n")).into_response()
}
