//! From a link of a file to what its owner asks for.

use crate::domain::{
    CustomCode, LinkProperties, LinkRequest, MaxClicks, OwnHost, Tags, TargetUrl, Timestamp, Title,
};
use crate::import::ReadLink;

/// What the owner of a file requests with one of its links, or why that is refused: a sentence with the names of the file.
///
/// # Errors
/// The sentence.
pub fn imported_request(
    read: &ReadLink,
    own_host: &OwnHost,
    is_reserved: fn(&str) -> bool,
    now: Timestamp,
) -> Result<LinkRequest, String> {
    if let Some(fault) = &read.fault {
        return Err(fault.clone());
    }
    let named = |error: &dyn std::fmt::Display| read.in_words_of_file(&error.to_string());
    if let Some((field, why)) = read.link.would_be_too_open(now) {
        return Err(named(&format!("{field}: {why}")));
    }
    let link = &read.link;
    let code = link.custom_code.as_deref();
    let code = code
        .map(|code| CustomCode::parse(code, is_reserved))
        .transpose();
    let title = link.title.as_deref().map(Title::parse).transpose();
    let max_clicks = link.max_clicks.map(MaxClicks::parse).transpose();
    let tags = Tags::parse(link.tags.iter().map(String::as_str));
    let target = TargetUrl::parse(&link.target_url, own_host);
    Ok(LinkRequest {
        properties: LinkProperties {
            title: title.map_err(|error| named(&error))?.flatten(),
            tags: tags.map_err(|error| named(&error))?,
            expires_at: link.expires_at,
            max_clicks: max_clicks.map_err(|error| named(&error))?,
            forward_query: link.forward_query,
            is_active: link.is_active,
            ..LinkProperties::of(target.map_err(|error| named(&error))?)
        },
        custom_code: code.map_err(|error| named(&error))?,
        clicks: link.clicks,
        may_have_ended: read.may_have_ended,
    })
}
