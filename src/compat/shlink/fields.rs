//! What requests say of a link.

use serde_json::{Map, Value};

use super::asked::{domain_named, moment};
use super::problem::Problem;
use crate::compat::services::Services;
use crate::domain::{DomainId, FieldEdit, LinkEdit, LinkRequest, MaxClicks, ShortCode, Tags};
use crate::wire::LinkFields;

/// Characters of a code that is drawn for a client: fewest and most.
const LENGTHS: std::ops::RangeInclusive<u64> = 4..=64;

/// The fields of a body: one that is `null` is absent.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn given(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, Problem> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let text = value.as_str().ok_or_else(|| wrong(name, "a text"))?;
        Ok(Some(text))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let flag = value
            .as_bool()
            .ok_or_else(|| wrong(name, "true or false"))?;
        Ok(Some(flag))
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        // Forms of the web client send numbers as texts.
        let text = value.as_str().and_then(|text| text.parse().ok());
        let number = value.as_u64().or(text);
        let number = number.ok_or_else(|| wrong(name, "a whole number"))?;
        Ok(Some(number))
    }

    fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        let Some(value) = self.given(name) else {
            return Ok(None);
        };
        let list = value
            .as_array()
            .ok_or_else(|| wrong(name, "a list of texts"))?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let list: Option<Vec<_>> = list.iter().map(text).collect();
        list.map(Some).ok_or_else(|| wrong(name, "a list of texts"))
    }

    /// What new links and changes have in common.
    fn common(&self) -> Result<LinkFields, Problem> {
        let at = |name: &str| -> Result<_, Problem> {
            let raw = self.text(name)?.filter(|raw| !raw.is_empty());
            let at = raw.map(|raw| moment(name, raw)).transpose()?;
            Ok(FieldEdit::set_if(at))
        };
        let max = self.number("maxVisits")?.map(MaxClicks::parse).transpose();
        let max = max.map_err(|_| wrong("maxVisits", "a whole number from 1 on"))?;
        Ok(LinkFields {
            target_url: FieldEdit::set_if(self.text("longUrl")?.map(str::to_owned)),
            title: FieldEdit::set_if(self.text("title")?.map(str::to_owned)),
            tags: FieldEdit::set_if(self.texts("tags")?),
            starts_at: at("validSince")?,
            expires_at: at("validUntil")?,
            max_clicks: FieldEdit::set_if(max),
            noindex: FieldEdit::set_if(self.flag("crawlable")?.map(|crawlable| !crawlable)),
            forward_query: FieldEdit::set_if(self.flag("forwardQuery")?),
            ..LinkFields::default()
        })
    }
}

fn wrong(name: &str, expected: &str) -> Problem {
    Problem::invalid(name, format!("{name}: must be {expected}"))
}

/// A new link that is asked for.
pub(super) struct NewLink {
    pub(super) link: LinkRequest,
    /// Its domain.
    pub(super) domain: DomainId,
    /// Its code, if one is chosen.
    pub(super) slug: Option<String>,
    /// How long its code is to be.
    pub(super) length: Option<usize>,
    /// Whether a link that is there, and has all that is given, would do.
    pub(super) may_exist: bool,
}

pub(super) fn new_link(services: &Services, body: &Map<String, Value>) -> Result<NewLink, Problem> {
    let given = Fields(body);
    let mut fields = given.common()?;
    if given.text("longUrl")?.is_none() {
        return Err(Problem::invalid("longUrl", "longUrl: is required"));
    }
    let mut domain = DomainId::OWN;
    if let Some(name) = given.text("domain")?.filter(|name| !name.is_empty()) {
        domain = domain_named(services, name).ok_or_else(|| {
            let detail = format!("domain: {name} is not a domain of this service");
            Problem::invalid("domain", detail)
        })?;
        if !domain.is_own() {
            fields.domain = FieldEdit::Set(name.to_owned());
        }
    }
    if given
        .text("pathPrefix")?
        .is_some_and(|prefix| !prefix.is_empty())
    {
        let detail = "pathPrefix: is not possible here; choose a customSlug that begins so";
        return Err(Problem::invalid("pathPrefix", detail));
    }
    // There queries are forwarded unless the request says otherwise.
    if fields.forward_query.is_kept() {
        fields.forward_query = FieldEdit::Set(true);
    }
    let slug = given.text("customSlug")?.filter(|slug| !slug.is_empty());
    fields.custom_code = FieldEdit::set_if(slug.map(str::to_owned));
    let length = given.number("shortCodeLength")?;
    if length.is_some_and(|length| !LENGTHS.contains(&length)) {
        return Err(wrong("shortCodeLength", "a whole number from 4 to 64"));
    }
    let links = &services.links;
    let link = fields.request(&links.own_host, links.is_reserved);
    Ok(NewLink {
        link: link.map_err(|why| Problem::of_sentence(&why))?,
        domain,
        slug: slug.map(str::to_owned),
        length: length.and_then(|length| usize::try_from(length).ok()),
        may_exist: given.flag("findIfExists")?.unwrap_or_default(),
    })
}

/// Whether a link that is there has all that a request for a new one gives.
pub(super) fn is_as_asked(
    body: &Map<String, Value>,
    wanted: &LinkRequest,
    link: &crate::domain::Link,
) -> bool {
    let (asked, has) = (&wanted.properties, &link.properties);
    let is_given = |name: &str| body.get(name).is_some_and(|value| !value.is_null());
    let sorted = |tags: &Tags| {
        let mut tags = tags.as_slice().to_vec();
        tags.sort_unstable();
        tags
    };
    let code = wanted.custom_code.as_ref();
    code.is_none_or(|code| code.as_code().as_str() == link.code.as_str())
        && (!is_given("tags") || sorted(&asked.tags) == sorted(&has.tags))
        && (!is_given("title") || asked.title == has.title)
        && (!is_given("validSince") || asked.starts_at == has.starts_at)
        && (!is_given("validUntil") || asked.expires_at == has.expires_at)
        && (!is_given("maxVisits") || asked.max_clicks == has.max_clicks)
}

/// The change of the link with this code that is asked for.
pub(super) fn edit(
    services: &Services,
    code: &ShortCode,
    body: &Map<String, Value>,
) -> Result<LinkEdit, Problem> {
    let given = Fields(body);
    if given
        .text("customSlug")?
        .is_some_and(|slug| slug != code.as_str())
    {
        let detail =
            "customSlug: cannot be changed here; make another link, or give this one an alias";
        return Err(Problem::invalid("customSlug", detail));
    }
    let links = &services.links;
    let edit = given.common()?.edit(&links.own_host, links.is_reserved);
    edit.map_err(|why| Problem::of_sentence(&why))
}
