//! One link: its count, its address and QR code, its fields, its deletion.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::breakdowns::{BreakdownsView, imported, wanted};
use super::clicks::{ClicksPage, ClicksQuery, ClicksRequest, ClicksView};
use super::form::Form;
use super::link_form::LinkForm;
use super::link_list::{ListQuery, Tag, word};
use super::page::{Frame, Site, grouped, minute, own_page_as_of, see_other};
use super::session::SignedIn;
use crate::abuse::Abuse;
use crate::domain::rules::Rule;
use crate::domain::{Link, PrivateNote, RemovalStatus, ShortCode, TargetUrl, Title};
use crate::http::{ApiError, ClientAddress, PathCode, QueryOf, clicks_csv, with_clicks_as_of};
use crate::links::{CountedLink, Expected, LinkService, Revision, WantedBreakdown};

#[derive(Template)]
#[template(path = "one_link.html")]
struct LinkPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    /// The code as people read it.
    shown: String,
    short_url: String,
    clicks: String,
    status: &'static str,
    created: String,
    title: String,
    target: String,
    note: String,
    tags: Vec<Tag>,
    removed: Option<Removed>,
    /// When it starts, if it has not started, and where visitors are sent if it is not followed; each is empty otherwise.
    starts: String,
    fallback: String,
    /// What its rules say.
    rules: Vec<String>,
    /// When it expires, and its click limit; each is empty if the link has no such bound.
    ends: String,
    most: String,
    has_password: bool,
    revision: String,
    /// The moment of the click counts, if they are not exact.
    as_of: Option<String>,
    said: &'static str,
    form: LinkForm,
    series: ClicksView,
    visitors: BreakdownsView,
    /// The clicks by code; empty if the link has no alias.
    codes: Vec<CodeRow>,
}

/// That administrators removed the link, and why.
struct Removed {
    text: &'static str,
    reason: Option<String>,
}

impl Removed {
    /// What the owner of a link reads about its removal; `None` if it is not removed.
    async fn of(link: &Link, abuse: &Abuse) -> Result<Option<Self>, ApiError> {
        let text = match link.removed {
            None => return Ok(None),
            Some(RemovalStatus::Gone) => {
                "The operator of this service removed this link. It no longer leads anywhere."
            }
            Some(RemovalStatus::LegalReasons) => {
                "The operator of this service removed this link for legal reasons. It no longer leads anywhere."
            }
        };
        let reason = abuse.reason_of(&link.code).await?;
        Ok(Some(Self { text, reason }))
    }
}

/// What was done just now.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Done {
    new: String,
    saved: String,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(done): QueryOf<Done>,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let asked = query.asked(links.clock.now(), signed_in.headers());
    let page = Page::of(&links, &abuse, &site, &signed_in, &code, &asked).await?;
    let said = match (done.new.is_empty(), done.saved.is_empty()) {
        (false, _) => "Your link is ready.",
        (_, false) => "Saved.",
        _ => "",
    };
    let status = asked
        .fault
        .as_ref()
        .map_or(StatusCode::OK, ApiError::status);
    let page = Page { said, ..page };
    page.render(&links, &site, &signed_in, status)
}

/// What the page of a link shows.
struct Page {
    shown: CountedLink,
    removed: Option<Removed>,
    series: ClicksView,
    visitors: BreakdownsView,
    codes: Vec<CodeRow>,
    said: &'static str,
    form: LinkForm,
}

/// A code of the link, its address, and the clicks by it.
struct CodeRow {
    code: String,
    shown: String,
    short_url: String,
    clicks: String,
}

impl Page {
    /// The link and what is known of its clicks.
    async fn of(
        links: &LinkService,
        abuse: &Abuse,
        site: &Site,
        signed_in: &SignedIn,
        code: &ShortCode,
        asked: &ClicksRequest,
    ) -> Result<Self, ApiError> {
        let owner = signed_in.principal;
        let found = links.own_series(owner, code, &asked.range).await?;
        let (shown, clicks) = found.ok_or_else(ApiError::url_not_found)?;
        let mut breakdowns = Vec::new();
        if site.keeps_classes() {
            let found = links.breakdowns(owner, code, wanted(asked)).await?;
            breakdowns = found.ok_or_else(ApiError::url_not_found)?;
        }
        let mut codes = Vec::new();
        if !shown.link.properties.aliases.as_slice().is_empty() {
            let found = links.clicks_by_code(owner, code, &asked.range).await?;
            let found = found.ok_or_else(ApiError::url_not_found)?;
            codes.extend(found.rows.iter().map(|(code, clicks)| CodeRow {
                code: code.in_path().into_owned(),
                shown: site.shown_code(code),
                short_url: site.short_url(code),
                clicks: grouped(*clicks),
            }));
        }
        let place = ClicksPage {
            path: format!("/app/links/{}", shown.link.code.in_path()),
            narrowed: Vec::new(),
        };
        let mut series = ClicksView::new(&place, asked, &clicks);
        series.imported = imported(&breakdowns);
        Ok(Self {
            removed: Removed::of(&shown.link, abuse).await?,
            form: LinkForm::of(&shown.link),
            shown,
            series,
            visitors: BreakdownsView::new(&place, asked, breakdowns, site),
            codes,
            said: "",
        })
    }

    fn render(
        self,
        links: &LinkService,
        site: &Site,
        signed_in: &SignedIn,
        status: StatusCode,
    ) -> Result<Response, ApiError> {
        let link = &self.shown.link;
        let properties = &link.properties;
        let title = properties.title.as_ref().map(Title::as_str);
        let note = properties.note.as_ref().map(PrivateNote::as_str);
        let (tags, most) = (properties.tags.as_slice(), properties.max_clicks);
        let now = links.clock.now();
        let starts = properties.starts_at.filter(|start| now < *start);
        let fallback = properties.fallback.as_ref().map(TargetUrl::as_str);
        let page = LinkPage {
            frame: Frame::own(site, signed_in.owner()),
            csrf: signed_in.owner().csrf,
            code: link.code.in_path().into_owned(),
            shown: site.shown_code(&link.code),
            short_url: site.short_url(&link.code),
            clicks: grouped(self.shown.clicks),
            status: word(self.shown.status(now)),
            starts: starts.map(minute).unwrap_or_default(),
            fallback: fallback.map(str::to_owned).unwrap_or_default(),
            rules: (properties.rules.iter())
                .flat_map(|rules| rules.as_slice().iter().map(Rule::sentence))
                .collect(),
            created: link.created_at.date(),
            title: title.map(str::to_owned).unwrap_or_default(),
            target: properties.target.as_str().to_owned(),
            note: note.map(str::to_owned).unwrap_or_default(),
            tags: tags.iter().map(|tag| Tag::of(tag)).collect(),
            removed: self.removed,
            has_password: properties.password.is_some(),
            ends: properties.expires_at.map(minute).unwrap_or_default(),
            most: most.map(|most| grouped(most.number())).unwrap_or_default(),
            revision: Revision::of(link).to_string(),
            as_of: self.shown.as_of.map(minute),
            said: self.said,
            form: self.form,
            series: self.series,
            visitors: self.visitors,
            codes: self.codes,
        };
        own_page_as_of(status, &page, self.shown.as_of)
    }
}

/// The clicks over time, and who made them, as a file.
pub(super) async fn export(
    State(links): State<Arc<LinkService>>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(query): QueryOf<ClicksQuery>,
) -> Result<Response, ApiError> {
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let (range, fault) = query.range(links.clock.now(), signed_in.headers());
    if let Some(fault) = fault {
        return Err(fault);
    }
    let found = links.own_series(signed_in.principal, &code, &range).await?;
    let (shown, clicks) = found.ok_or_else(ApiError::url_not_found)?;
    let (owner, code) = (signed_in.principal, &shown.link.code);
    let breakdowns = links.breakdowns(owner, code, WantedBreakdown::all(&range));
    let breakdowns = breakdowns.await?.unwrap_or_default();
    let by_code = links.clicks_by_code(owner, code, &range).await?;
    let (name, series) = (code.as_str(), &clicks.series);
    let csv = clicks_csv(name, &range, series, &breakdowns, by_code.as_ref())?;
    Ok(with_clicks_as_of(csv, clicks.as_of))
}

pub(super) async fn edit(
    State(links): State<Arc<LinkService>>,
    State(abuse): State<Arc<Abuse>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let owner = signed_in.principal;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    let asked = ClicksRequest::default_at(links.clock.now());
    let page = Page::of(&links, &abuse, &site, &signed_in, &code, &asked).await?;
    let fields = LinkForm::sent(&form);
    let edited = async {
        checked?;
        let edit = fields.edit(&page.shown.link, &links.own_host)?;
        let expected = Expected::OneOf(vec![form.get("revision").to_owned()]);
        let edited = links
            .edit(owner, &code, &edit, &expected, client.as_str())
            .await?;
        edited.ok_or_else(ApiError::url_not_found)
    };
    match edited.await {
        // The address may have been that of an alias, which is gone now.
        Ok(edited) => Ok(see_other(&format!(
            "/app/links/{}?saved=1",
            edited.link.code.in_path()
        ))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let form = fields.refused(&error);
            let page = Page { form, ..page };
            page.render(&links, &site, &signed_in, error.status())
        }
    }
}

pub(super) async fn delete(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    form: Form,
) -> Result<Response, ApiError> {
    signed_in.check(&site, &form)?;
    let code = code.ok_or_else(ApiError::url_not_found)?;
    if !links
        .delete(signed_in.principal, &code, &Expected::Any)
        .await?
    {
        return Err(ApiError::url_not_found());
    }
    let list = ListQuery::default();
    Ok(see_other(&match links.trash_days {
        0 => list.path("deleted"),
        _ => list.path_after_deletion(std::iter::once(&*code.in_path())),
    }))
}
