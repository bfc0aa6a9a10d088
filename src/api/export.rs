//! `GET /urls/export`: all links of the token's owner, to keep or to take elsewhere.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::IntoParams;

use super::authentication::ListeningOwner;
use super::base_address::BaseAddress;
use super::link_body::View;
use super::link_stream::{CsvLinks, Form, LinkJson, WholeList};
#[cfg(test)]
use super::words::ExportWord;
use crate::accounts::Accounts;
use crate::domain::{GroupRole, Principal};
#[cfg(test)]
use crate::http::documented::{ErrorBody, Limited, NeedsDatabase, NeedsToken, TakesQuery};
use crate::http::{ApiError, ClientAddress, QueryOf, with_clicks_as_of};
use crate::links::{LinkService, Listing};
#[cfg(test)]
use crate::wire::FullLinkBody;

/// What is exported.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportQuery {
    /// `csv`, which spreadsheets read, or `ndjson`, a JSON object a line.
    #[param(value_type = ExportWord, inline, example = "csv")]
    format: String,
    /// `true`: a link with a password has its hash, too, as `password_hash`, so that the export can be imported as a whole. For
    /// log-ins, and for keys that may write.
    #[serde(default)]
    secrets: bool,
}

enum Format {
    Csv,
    Ndjson,
}

/// Export all your links.
///
/// In full view, the newest first, however many: as a stream. `POST /urls/bulk` takes what this sends. In CSV a cell that a
/// spreadsheet would take for a formula has an apostrophe before it, which `POST /urls/bulk` takes away again.
#[utoipa::path(
    get, path = "/urls/export", tag = "links", operation_id = "export", params(ExportQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "The links", content(
            (String = "text/csv"), (FullLinkBody = "application/x-ndjson"),
        ), headers(
            ("Content-Disposition" = String, description = "A name for the file"),
            ("Clicks-As-Of" = String, description = "Present only if exact click counts cannot be read: all clicks up to this moment are counted, and some later clicks"),
        )),
        (status = 422, description = "`format` is missing or not acceptable", body = ErrorBody, examples(
            ("missing" = (value = json!({"detail": "format: query parameter is required"}))),
            ("other" = (value = json!({"detail": "format: must be csv or ndjson"}))),
        )),
        (status = 403, description = "The key may only create links; or `secrets=true`, and the key may only read", body = ErrorBody, examples(
            ("create" = (value = json!({"detail": "This key can only create links"}))),
            ("secrets" = (value = json!({"detail": "This key is read-only"}))),
        )),
        TakesQuery, NeedsToken, Limited, NeedsDatabase,
    ),
)]
pub(super) async fn export(
    State(links): State<Arc<LinkService>>,
    State(accounts): State<Arc<Accounts>>,
    State(base_address): State<BaseAddress>,
    ListeningOwner {
        principal: owner,
        bearer,
    }: ListeningOwner,
    client: ClientAddress,
    query: Result<QueryOf<ExportQuery>, ApiError>,
) -> Result<Response, ApiError> {
    let format =
        query.and_then(|QueryOf(query)| Ok((Format::parse(&query.format)?, query.secrets)));
    let (format, secrets) = match format {
        Ok(format) => format,
        Err(refusal) => {
            // Links would have shown that the account still exists.
            accounts.user(owner).await?;
            return Err(refusal);
        }
    };
    if secrets {
        if let Some(person) = accounts
            .person(&bearer)?
            .filter(|person| person.user != owner.user)
        {
            accounts
                .acting(person, owner.user, GroupRole::Editor, client.as_str())
                .await?;
        }
        accounts.reads_secrets(&bearer, client.as_str()).await?;
    }
    let what = (base_address, secrets);
    let (is_empty, response) = match format {
        Format::Csv => csv(links, owner, what, &client).await?,
        Format::Ndjson => ndjson(links, owner, what, &client).await?,
    };
    if is_empty {
        accounts.user(owner).await?;
    }
    Ok(response)
}

/// All links as CSV, perhaps with secrets, and whether there are none.
pub(super) async fn csv(
    links: Arc<LinkService>,
    owner: Principal,
    (base_address, secrets): (BaseAddress, bool),
    client: &ClientAddress,
) -> Result<(bool, Response), ApiError> {
    let (kind, name) = (
        "text/csv; charset=utf-8",
        "attachment; filename=\"links.csv\"",
    );
    let form = Form::Csv(CsvLinks {
        base_address,
        secrets,
    });
    file(links, owner, form, (kind, name), client).await
}

/// All links as JSON, one a line, perhaps with secrets, and whether there are none.
pub(super) async fn ndjson(
    links: Arc<LinkService>,
    owner: Principal,
    (base_address, secrets): (BaseAddress, bool),
    client: &ClientAddress,
) -> Result<(bool, Response), ApiError> {
    let (kind, name) = (
        "application/x-ndjson",
        "attachment; filename=\"links.ndjson\"",
    );
    let json = LinkJson {
        view: View::Full,
        base_address,
        secrets,
    };
    file(links, owner, Form::Lines(json), (kind, name), client).await
}

async fn file(
    links: Arc<LinkService>,
    owner: Principal,
    form: Form,
    (kind, name): (&'static str, &'static str),
    client: &ClientAddress,
) -> Result<(bool, Response), ApiError> {
    let list = WholeList {
        links,
        owner,
        listing: Listing::default(),
        form,
    };
    let first = list.first_page().await?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(kind)),
        (CONTENT_DISPOSITION, HeaderValue::from_static(name)),
    ];
    let response = (headers, list.body(&first, client)?).into_response();
    Ok((first.is_empty(), with_clicks_as_of(response, first.as_of)))
}

impl Format {
    fn parse(raw: &str) -> Result<Self, ApiError> {
        match raw {
            "csv" => Ok(Self::Csv),
            "ndjson" => Ok(Self::Ndjson),
            _ => Err(ApiError::invalid("format: must be csv or ndjson")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::api::bulk_document::Document;
    use crate::config::BaseUrl;
    use crate::domain::{
        Link, LinkId, LinkProperties, LinkRequest, ShortCode, Timestamp, UserId, any_properties,
    };
    use crate::http::paths::is_reserved;
    use crate::links::ListedLink;

    fn base() -> BaseUrl {
        BaseUrl::parse("https://sho.rt").unwrap()
    }

    fn properties() -> impl Strategy<Value = LinkProperties> {
        let target = "https://[a-z]{1,5}\\.example/[!-~é]{0,9}";
        let title = "['=+@,\";\\- ]{0,3}[^\\p{Cc}]{1,9}";
        let tag = "['=+@\\-]{0,2}[^\\p{Cc},]{0,9}";
        any_properties(
            [
                target,
                title,
                tag,
                "['=+@,\";\\- \n]{0,5}[^\\p{Cc}]{0,9}\n?",
            ],
            1 << 53,
        )
    }

    fn links() -> impl Strategy<Value = Vec<(Link, u64)>> {
        let link = ("[A-Za-z0-9_-]{3,12}", properties(), 0..1_u64 << 53);
        let link = link.prop_map(|(code, properties, clicks)| {
            let link = Link {
                id: LinkId::parse(7).unwrap(),
                code: ShortCode::parse(&code).unwrap(),
                owner: UserId(1),
                made_by: UserId(1),
                properties,
                created_at: Timestamp::from_micros(1_700_000_000_123_456).unwrap(),
                updated_at: Timestamp::from_micros(1_700_000_000_123_457).unwrap(),
                removed: None,
            };
            (link, clicks)
        });
        vec(
            link.prop_filter("a word of the service", |(link, _)| {
                !is_reserved(link.code.as_str())
            }),
            0..5,
        )
    }

    fn imported(kind: &str, body: &[u8]) -> Vec<LinkRequest> {
        let mut document = Document::of(kind, body).unwrap();
        let links = document.read_next(10, base().own_host()).into_iter();
        links.map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn an_export_is_imported_with_the_same_properties(links in links()) {
            let base_address = BaseAddress::new(&base(), crate::domain::CurrentHosts::default());
            let json = LinkJson { view: View::Full, base_address: base_address.clone(), secrets: true };
            let csv = CsvLinks { base_address, secrets: true };
            for (kind, form) in [
                ("text/csv", Form::Csv(csv)), ("application/x-ndjson", Form::Lines(json)),
            ] {
                let mut body = form.head();
                for (link, clicks) in &links {
                    let now = link.created_at;
                    let listed = ListedLink { link, clicks: *clicks, status: link.status(*clicks, now), days: &[] };
                    form.write_link(&listed, &mut true, &mut body).unwrap();
                }
                let requests = imported(kind, &body);
                prop_assert_eq!(requests.len(), links.len());
                for ((link, clicks), request) in links.iter().zip(requests) {
                    prop_assert_eq!(&request.properties, &link.properties);
                    prop_assert_eq!(request.custom_code.as_ref().unwrap().as_code(), &link.code);
                    prop_assert_eq!((request.clicks, request.may_have_ended), (*clicks, true));
                }
            }
        }
    }
}
