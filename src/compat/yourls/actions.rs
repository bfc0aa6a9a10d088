//! What each action does.

use axum::http::StatusCode;

use super::answer::{Answer, Group, status_of};
use super::key::{denied, key};
use crate::accounts::Access;
use crate::compat::address::with_scheme;
use crate::compat::caller::{Asking, Caller};
use crate::compat::parameters::Parameters;
use crate::compat::sentence::renamed;
use crate::compat::services::Services;
use crate::domain::{
    DomainId, FieldEdit, InvalidTarget, Link, LinkFilter, LinkOrder, TargetUrl, Timestamp, Title,
};
use crate::http::ApiError;
use crate::links::{LinkError, Listing, MAX_NUMBERED_BY_CLICKS};
use crate::wire::LinkFields;

/// The version whose answers these are.
const VERSION: &str = "1.10.2";
const DATABASE_VERSION: &str = "507";

/// Links of one answer at most.
const MAX_LINKS: u64 = 1_000;

/// What the form of one line says where it has no room.
const NO_LINE: &str = "Need either XML or JSON format for stats";

/// The names of fields there.
const NAMES: [(&str, &str); 2] = [("target_url", "url"), ("custom_code", "keyword")];

pub(super) async fn act(services: &Services, asking: &Asking, parameters: &Parameters) -> Answer {
    match acted(services, asking, parameters).await {
        Ok(answer) | Err(answer) => answer,
    }
}

async fn acted(
    services: &Services,
    asking: &Asking,
    parameters: &Parameters,
) -> Result<Answer, Answer> {
    let action = parameters.get("action").unwrap_or_default();
    let access = match action {
        "shorturl" => Access::Create,
        _ => Access::Read,
    };
    let caller = services.caller(asking, key(parameters)?, access).await;
    let caller = caller.map_err(|error| match error.status() {
        StatusCode::UNAUTHORIZED => denied("Invalid username or password: send a valid key"),
        _ => Answer::of_error(&error),
    })?;
    let answer = match action {
        "shorturl" => return Ok(short_url(services, &caller, parameters).await),
        "expand" => expand(services, &caller, parameters).await,
        "url-stats" => url_stats(services, &caller, parameters).await,
        "stats" => return stats(services, &caller, parameters).await,
        "db-stats" => totals(services, &caller).await.map(|totals| {
            let fields = Group::default()
                .group("db-stats", totals)
                .text("statusCode", "200")
                .text("message", "success");
            Answer::new(StatusCode::OK, NO_LINE, fields)
        }),
        "version" => Ok(version(parameters)),
        _ => {
            let why = "Unknown or missing \"action\" parameter";
            return Err(Answer::refused(StatusCode::BAD_REQUEST, why));
        }
    };
    answer.map_err(|error| Answer::of_error(&error))
}

fn version(parameters: &Parameters) -> Answer {
    let mut fields = Group::default().text("version", VERSION);
    if parameters.get("db") == Some("1") {
        fields = fields.text("db_version", DATABASE_VERSION);
    }
    Answer::new(StatusCode::OK, VERSION, fields)
}

/// Why no link was made: a status, a code for programs, and a sentence.
struct NotMade {
    status: StatusCode,
    code: &'static str,
    message: String,
    error: Option<ApiError>,
}

impl NotMade {
    fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code,
            message: message.into(),
            error: None,
        }
    }

    fn answer(self) -> Answer {
        let fields = Group::default()
            .text("status", "fail")
            .text("code", self.code)
            .text("message", self.message)
            .text("errorCode", self.status.as_str())
            .text("statusCode", self.status.as_str());
        let answer = Answer::new(self.status, "", fields);
        match &self.error {
            Some(error) => answer.after(error),
            None => answer,
        }
    }
}

async fn short_url(services: &Services, caller: &Caller, parameters: &Parameters) -> Answer {
    let link = match made(services, caller, parameters).await {
        Ok(link) => link,
        Err(refused) => return refused.answer(),
    };
    let short_url = services.site.short_url(&link.code);
    let target = link.properties.target.as_str();
    let url = Group::default()
        .text("keyword", link.code.as_str())
        .text("url", target)
        .text("title", title(&link))
        .text("date", moment(link.created_at))
        .text("ip", "");
    let fields = Group::default()
        .text("status", "success")
        .text("code", "")
        .text(
            "message",
            format!("{} added to database", shortened(target)),
        )
        .text("errorCode", "")
        .text("statusCode", "200")
        .group("url", url)
        .text("title", title(&link))
        .text("shorturl", short_url.clone());
    Answer::new(StatusCode::OK, short_url, fields)
}

async fn made(
    services: &Services,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Link, NotMade> {
    let links = &services.links;
    let url = with_scheme(parameters.get("url").unwrap_or_default());
    match TargetUrl::parse(&url, &links.own_host) {
        Ok(_) => {}
        Err(InvalidTarget::OwnHost) => {
            return Err(NotMade::invalid("error:noloop", "URL is a short URL"));
        }
        Err(why) => {
            let message = format!("Missing or malformed URL: it {why}");
            return Err(NotMade::invalid("error:nourl", message));
        }
    }
    let text = |name| FieldEdit::set_if(parameters.filled(name).map(str::to_owned));
    let fields = LinkFields {
        target_url: FieldEdit::Set(url),
        custom_code: text("keyword"),
        title: text("title"),
        ..LinkFields::default()
    };
    let request = fields.request(&links.own_host, links.is_reserved);
    let request = request.map_err(|why| {
        let code = match why.split(':').next() {
            Some("custom_code") => "error:keyword",
            _ => "error:title",
        };
        NotMade::invalid(code, renamed(&why, &NAMES))
    })?;
    let made = links
        .shorten(caller.principal, &request, None, &caller.address)
        .await;
    made.map(|made| made.link).map_err(|error| {
        let code = match &error {
            LinkError::CodeTaken => {
                let keyword = parameters.get("keyword").unwrap_or_default();
                let message =
                    format!("Short URL {keyword} already exists in database or is reserved");
                return NotMade::invalid("error:keyword", message);
            }
            LinkError::CodeTooShort(_) => "error:keyword",
            LinkError::TargetRefused(_) => "error:url",
            _ => "error:db",
        };
        let error = ApiError::from(error);
        NotMade {
            status: status_of(&error),
            code,
            message: renamed(error.detail(), &NAMES),
            error: Some(error),
        }
    })
}

/// The link of the parameter `shorturl`: a code or a short URL.
async fn named(
    services: &Services,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Option<(Link, u64)>, ApiError> {
    let raw = parameters.get("shorturl").unwrap_or_default();
    let Some(code) = services.site.code_of(raw) else {
        return Ok(None);
    };
    let shown = services.links.show(caller.principal, &code).await?;
    Ok(shown.map(|shown| (shown.link, shown.clicks)))
}

async fn expand(
    services: &Services,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Answer, ApiError> {
    let not_found = "Error: short URL not found";
    let Some((link, _)) = named(services, caller, parameters).await? else {
        let keyword = parameters.get("shorturl").unwrap_or_default();
        let fields = Group::default()
            .text("keyword", keyword)
            .text("message", not_found)
            .text("errorCode", "404");
        return Ok(Answer::new(StatusCode::NOT_FOUND, "not found", fields));
    };
    let target = link.properties.target.as_str();
    let fields = Group::default()
        .text("keyword", link.code.as_str())
        .text("shorturl", services.site.short_url(&link.code))
        .text("longurl", target)
        .text("title", title(&link))
        .text("message", "success")
        .text("statusCode", "200");
    Ok(Answer::new(StatusCode::OK, target, fields))
}

async fn url_stats(
    services: &Services,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Answer, ApiError> {
    let fields = Group::default();
    let Some((link, clicks)) = named(services, caller, parameters).await? else {
        let fields = fields
            .text("statusCode", "404")
            .text("message", "Error: short URL not found");
        return Ok(Answer::new(StatusCode::NOT_FOUND, NO_LINE, fields));
    };
    let fields = fields
        .text("statusCode", "200")
        .text("message", "success")
        .group("link", statistics(services, &link, clicks));
    Ok(Answer::new(StatusCode::OK, NO_LINE, fields))
}

fn statistics(services: &Services, link: &Link, clicks: u64) -> Group {
    Group::default()
        .text("shorturl", services.site.short_url(&link.code))
        .text("url", link.properties.target.as_str())
        .text("title", title(link))
        .text("timestamp", moment(link.created_at))
        .text("ip", "")
        .number("clicks", clicks)
}

async fn stats(
    services: &Services,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Answer, Answer> {
    let refused = |why: &str| Answer::refused(StatusCode::BAD_REQUEST, why);
    let order = match parameters.get("filter").unwrap_or_default() {
        "bottom" => LinkOrder::FewestClicks,
        "last" => LinkOrder::Newest,
        "rand" | "random" => {
            return Err(refused(
                "filter: random links are not possible here; ask for top, bottom or last",
            ));
        }
        _ => LinkOrder::MostClicks,
    };
    let number = |name: &str| whole_number(parameters.get(name).unwrap_or_default());
    let limit = number("limit");
    if limit > MAX_LINKS {
        return Err(refused("limit: must be at most 1000"));
    }
    let start = number("start");
    if order.is_by_clicks() && start > MAX_NUMBERED_BY_CLICKS {
        return Err(refused("start: must be at most 10000 for top and bottom"));
    }
    let error = |error: ApiError| Answer::of_error(&error);
    let mut fields = Group::default();
    if limit > 0 {
        let listing = Listing {
            order,
            filter: LinkFilter {
                domain: Some(DomainId::OWN),
                ..LinkFilter::default()
            },
        };
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let part = services
            .links
            .numbered(caller.principal, &listing, start, limit)
            .await;
        let part = part.map_err(|why| error(why.into()))?;
        let listed = part.page.links().zip(1_u32..);
        let listed = listed.fold(Group::default(), |listed, (found, number)| {
            let link = statistics(services, found.link, found.clicks);
            listed.group(&format!("link_{number}"), link)
        });
        fields = fields.group("links", listed);
    }
    let totals = totals(services, caller).await.map_err(error)?;
    let fields = fields
        .group("stats", totals)
        .text("statusCode", "200")
        .text("message", "success");
    Ok(Answer::new(StatusCode::OK, NO_LINE, fields))
}

async fn totals(services: &Services, caller: &Caller) -> Result<Group, ApiError> {
    let totals = services.links.totals(caller.principal).await?;
    Ok(Group::default()
        .number("total_links", totals.links)
        .number("total_clicks", totals.clicks))
}

/// The number that a text begins with; 0 for a text without one.
fn whole_number(raw: &str) -> u64 {
    let raw = raw.trim_start().trim_start_matches('+');
    let end = raw.find(|char: char| !char.is_ascii_digit());
    let digits = &raw[..end.unwrap_or(raw.len())];
    if digits.is_empty() {
        return 0;
    }
    digits.parse().unwrap_or(u64::MAX)
}

/// A link without a title goes by its URL, as there.
fn title(link: &Link) -> &str {
    let title = link.properties.title.as_ref().map(Title::as_str);
    title.unwrap_or(link.properties.target.as_str())
}

/// `2027-01-31 18:00:00`, in UTC.
fn moment(at: Timestamp) -> String {
    let text = at.with_micros();
    text.chars()
        .take(19)
        .map(|char| if char == 'T' { ' ' } else { char })
        .collect()
}

/// At most 60 characters of a URL.
fn shortened(url: &str) -> String {
    let shown: String = url.chars().take(60).collect();
    if shown.len() == url.len() {
        return shown;
    }
    format!("{}[...]", shown.chars().take(55).collect::<String>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_read_as_there() {
        for (raw, number) in [
            ("", 0),
            ("5", 5),
            ("5x", 5),
            ("x", 0),
            ("-3", 0),
            ("99999999999999999999", u64::MAX),
        ] {
            assert_eq!(whole_number(raw), number, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(raw in "\\PC{0,90}") {
            prop_assert!(shortened(&raw).chars().count() <= 60);
            let _ = whole_number(&raw);
        }
    }
}
