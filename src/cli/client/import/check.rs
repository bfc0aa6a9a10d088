//! Faults that the service would refuse, found before a link is sent; the service has the last word.

use shunt::domain::{CustomCode, MaxClicks, OwnHost, Tags, TargetUrl, Timestamp, Title};
use shunt::http::paths::is_reserved;
use shunt::import::ReadLink;

/// Why a link is refused, apart from its code.
pub(super) fn refusal(
    read: &ReadLink,
    own_host: Option<&OwnHost>,
    now: Timestamp,
) -> Option<String> {
    let link = &read.link;
    if let Some((field, why)) = link.would_be_too_open(now) {
        return Some(read.in_words_of_file(&format!("{field}: {why}")));
    }
    let target = own_host.map(|own_host| TargetUrl::parse(&link.target_url, own_host));
    let target = target.and_then(|target| target.err().map(|error| error.to_string()));
    let title = link.title.as_deref().map(Title::parse).transpose();
    let title = || title.err().map(|error| error.to_string());
    let tags = || {
        let tags = Tags::parse(link.tags.iter().map(String::as_str));
        tags.err().map(|error| error.to_string())
    };
    let most = || {
        let most = link.max_clicks.map(MaxClicks::parse).transpose();
        most.err().map(|error| error.to_string())
    };
    let fault = target.or_else(title).or_else(tags).or_else(most)?;
    Some(read.in_words_of_file(&fault))
}

/// Why the code of a link cannot be used here.
pub(super) fn fault_of_code(read: &ReadLink) -> Option<String> {
    let code = read.link.custom_code.as_deref()?;
    let refused = CustomCode::parse(code, is_reserved).err()?;
    Some(read.in_words_of_file(&refused.to_string()))
}
