//! Whole lists of links: page by page from the database, sent as they are read, in memory that does not grow with them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use csv::{Terminator, WriterBuilder};
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use tokio::time::sleep;

use super::base_address::BaseAddress;
use super::link_body::View;
use crate::domain::{LinkOrder, Principal};
use crate::http::{ApiError, ClientAddress};
use crate::import::guarded;
use crate::links::{LinkService, ListedLink, Listing, Page};
use crate::store::Position;
use crate::wire::{COLUMNS, Column, FullLinkBody, LinkBody, SECRET_COLUMN};

/// Links per page: so many are in memory at once.
const PAGE: u32 = 100;

/// The same by clicks, where each page costs a look at all links of the owner.
const PAGE_BY_CLICKS: u32 = 500;

/// How often a page with exact clicks is tried in the middle of a list: Redis is away for a moment on a busy machine.
const EXACT_TRIES: u32 = 20;
const EXACT_PAUSE: Duration = Duration::from_millis(250);

/// A whole list that is to be sent.
pub(super) struct WholeList {
    pub(super) links: Arc<LinkService>,
    pub(super) owner: Principal,
    pub(super) listing: Listing,
    pub(super) form: Form,
}

/// How links become bytes.
pub(super) enum Form {
    /// A JSON array.
    Array(LinkJson),
    /// A JSON object a line.
    Lines(LinkJson),
    /// CSV with a header line.
    Csv(CsvLinks),
}

/// How one link becomes JSON.
pub(super) struct LinkJson {
    pub(super) view: View,
    pub(super) base_address: BaseAddress,
    /// Whether the hash of a link's password is shown, too.
    pub(super) secrets: bool,
}

/// How one link becomes a line of CSV.
pub(super) struct CsvLinks {
    pub(super) base_address: BaseAddress,
    /// Whether the hash of a link's password is shown, too.
    pub(super) secrets: bool,
}

/// The columns of CSV.
fn columns(secrets: bool) -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().chain(secrets.then_some(&SECRET_COLUMN))
}

/// The part of a list that is still to be sent.
struct Rest {
    after: Position,
    /// No link was sent yet: the next one comes without a separator.
    is_first: bool,
    /// Whether the header promises exact clicks.
    is_exact: bool,
}

impl WholeList {
    /// The first page. It is read before the response begins, so that an early failure is a proper error.
    pub(super) async fn first_page(&self) -> Result<Page, ApiError> {
        self.page(None).await
    }

    async fn page(&self, after: Option<Position>) -> Result<Page, ApiError> {
        let limit = match self.listing.order {
            LinkOrder::Newest | LinkOrder::Oldest => PAGE,
            LinkOrder::MostClicks | LinkOrder::FewestClicks => PAGE_BY_CLICKS,
        };
        let page = self.links.page(self.owner, &self.listing, after, limit);
        Ok(page.await?)
    }

    /// The body, after its first page. A failure breaks the connection, so that half a list never looks whole.
    pub(super) fn body(self, first: &Page, client: &ClientAddress) -> Result<Body, ApiError> {
        let mut head = self.form.head();
        let mut is_first = true;
        self.form.write(first, &mut is_first, &mut head)?;
        let Some(after) = first.next else {
            head.extend_from_slice(self.form.end());
            return Ok(head.into());
        };
        let lists = &self.links.lists_at_once;
        let reserved = lists.begin(self.owner.user, client.as_str())?;
        let list = Arc::new(self);
        let rest = Rest {
            after,
            is_first,
            is_exact: first.as_of.is_none(),
        };
        let pieces = try_unfold(Some(rest), move |rest| {
            // Until the response is dropped.
            let _ = &reserved;
            let list = Arc::clone(&list);
            async move {
                match rest {
                    Some(rest) => list.next_piece(rest).await.map(Some),
                    None => Ok(None),
                }
            }
        });
        let head = futures_util::stream::iter([Ok::<_, ApiError>(Bytes::from(head))]);
        Ok(Body::from_stream(head.chain(pieces)))
    }

    /// The page after those that were sent, with exact clicks where these had such.
    async fn next_page(&self, rest: &Rest) -> Result<Page, ApiError> {
        for _ in 0..EXACT_TRIES {
            match self.page(Some(rest.after)).await {
                Ok(page) if page.as_of.is_none() || !rest.is_exact => return Ok(page),
                // Exact counts are away, or many searches of the account wait for their turn.
                Ok(_) => {}
                Err(error) if error.status() == StatusCode::TOO_MANY_REQUESTS => {}
                Err(error) => return Err(error),
            }
            sleep(EXACT_PAUSE).await;
        }
        let why = "the rest of a list could not be read in the middle of it";
        Err(ApiError::unavailable(why))
    }

    async fn next_piece(&self, mut rest: Rest) -> Result<(Bytes, Option<Rest>), ApiError> {
        let page = self.next_page(&rest).await?;
        let mut piece = Vec::new();
        self.form.write(&page, &mut rest.is_first, &mut piece)?;
        let Some(after) = page.next else {
            piece.extend_from_slice(self.form.end());
            return Ok((piece.into(), None));
        };
        Ok((piece.into(), Some(Rest { after, ..rest })))
    }
}

impl Form {
    pub(super) fn head(&self) -> Vec<u8> {
        match self {
            Self::Array(_) => b"[".to_vec(),
            Self::Lines(_) => Vec::new(),
            Self::Csv(links) => {
                let names: Vec<_> = columns(links.secrets).map(|column| column.name).collect();
                format!("{}\r\n", names.join(",")).into()
            }
        }
    }

    /// With the newline of every body.
    fn end(&self) -> &'static [u8] {
        match self {
            Self::Array(_) => b"]\n",
            Self::Lines(_) | Self::Csv(_) => b"",
        }
    }

    fn write(&self, page: &Page, is_first: &mut bool, out: &mut Vec<u8>) -> Result<(), ApiError> {
        let mut links = page.links();
        links.try_for_each(|listed| self.write_link(&listed, is_first, out))
    }

    /// Adds a link; `is_first` says whether none was added before.
    pub(super) fn write_link(
        &self,
        listed: &ListedLink<'_>,
        is_first: &mut bool,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        match self {
            Self::Array(json) => {
                if !std::mem::take(is_first) {
                    out.push(b',');
                }
                json.write(listed, out)
            }
            Self::Lines(json) => {
                json.write(listed, out)?;
                out.push(b'\n');
                Ok(())
            }
            Self::Csv(links) => {
                let link = full(listed, &links.base_address, links.secrets);
                let row = write_row(&link, links.secrets, out);
                row.map_err(|error| ApiError::internal(&error.to_string()))
            }
        }
    }
}

fn full(listed: &ListedLink<'_>, base_address: &BaseAddress, secrets: bool) -> FullLinkBody {
    let short_url = base_address.short_url(&listed.link.code);
    let link = FullLinkBody::new(listed.link, short_url, listed.clicks, listed.status);
    let link = link.at(base_address.host_of(&listed.link.code));
    if secrets {
        link.with_secrets_of(listed.link)
    } else {
        link
    }
}

/// Adds a link as a line of CSV. What a spreadsheet would take for a formula gets an apostrophe before it.
fn write_row(link: &FullLinkBody, secrets: bool, out: &mut Vec<u8>) -> Result<(), csv::Error> {
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(out);
    for column in columns(secrets) {
        writer.write_field(guarded(&(column.cell)(link)).as_bytes())?;
    }
    writer.write_record(None::<&[u8]>)?;
    Ok(writer.flush()?)
}

/// A page as a JSON array.
pub(super) fn array(page: &Page, json: LinkJson) -> Result<Vec<u8>, ApiError> {
    let form = Form::Array(json);
    let mut array = form.head();
    form.write(page, &mut true, &mut array)?;
    array.extend_from_slice(form.end());
    Ok(array)
}

impl LinkJson {
    fn write(&self, listed: &ListedLink<'_>, out: &mut Vec<u8>) -> Result<(), ApiError> {
        match self.view {
            View::Plain => serde_json::to_writer(out, &LinkBody::new(listed.link, listed.clicks)),
            View::Full => {
                serde_json::to_writer(out, &full(listed, &self.base_address, self.secrets))
            }
        }
        .map_err(|error| ApiError::internal(&error.to_string()))
    }
}
