//! What requests say of a link. `null` and an empty text mean that nothing is said.

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;

use super::answer::Refusal;
use super::duration::duration;
use crate::compat::address::with_scheme;
use crate::compat::parameters::Parameters;
use crate::compat::services::Services;
use crate::domain::{
    CustomCode, DomainId, FieldEdit, InvalidCustomCode, InvalidTarget, LinkEdit, LinkRequest,
    ShortCode, TargetUrl,
};
use crate::http::{BodyLimits, read_body};
use crate::wire::{LinkFields, SecretText};

/// The body of a request: JSON, or a form.
pub(super) async fn body(request: Request) -> Result<Parameters, Refusal> {
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let limits: BodyLimits = request.extensions().get().copied().unwrap_or_default();
    let body = read_body(request, limits).await?;
    let read = Parameters::of_body(content_type.as_deref(), &body);
    read.map_err(Refusal::invalid)
}

/// The query of a request.
pub(super) fn query(raw: Option<&str>) -> Result<Parameters, Refusal> {
    Parameters::of_form(raw.unwrap_or_default()).map_err(Refusal::invalid)
}

/// A new link, and whether one with the same target would do.
pub(super) struct NewLink {
    pub(super) link: LinkRequest,
    pub(super) domain: DomainId,
    pub(super) may_be_reused: bool,
}

/// The link that is asked for.
pub(super) fn new_link(services: &Services, body: &Parameters) -> Result<NewLink, Refusal> {
    let Some(target) = body.filled("target") else {
        return Err(Refusal::invalid("Target is missing."));
    };
    let mut fields = common(services, body, target)?;
    if let Some(code) = body.filled("customurl").map(str::trim) {
        checked_code(services, code)?;
        fields.custom_code = FieldEdit::Set(code.to_owned());
    }
    let mut domain = DomainId::OWN;
    if let Some(name) = body.filled("domain") {
        let named = services.site.domain_named(name);
        domain = named.ok_or_else(Refusal::no_domain)?;
        if !domain.is_own() {
            fields.domain = FieldEdit::Set(name.to_owned());
        }
    }
    let may_be_reused = match body.filled("reuse") {
        None | Some("false" | "0") => false,
        Some("true" | "1" | "on") => true,
        Some(_) => return Err(Refusal::invalid("Reuse must be boolean.")),
    };
    let links = &services.links;
    let link = fields.request(&links.own_host, links.is_reserved);
    Ok(NewLink {
        link: link.map_err(|why| Refusal::of_sentence(&why))?,
        domain,
        may_be_reused,
    })
}

/// The change of the link with this code that is asked for.
pub(super) fn edit(
    services: &Services,
    code: &ShortCode,
    body: &Parameters,
) -> Result<LinkEdit, Refusal> {
    let is_said = |name: &&str| body.filled(name).is_some();
    if !["target", "address", "description", "expire_in", "password"]
        .iter()
        .any(is_said)
    {
        return Err(Refusal::invalid("Should at least update one field."));
    }
    if let Some(address) = body.filled("address").map(str::trim)
        && address != code.as_str()
    {
        checked_code(services, address)?;
        return Err(Refusal::invalid(
            "The address of a link cannot be changed here; make another link, or give this one an alias on its page.",
        ));
    }
    let fields = common(services, body, body.get("target").unwrap_or_default())?;
    let links = &services.links;
    let edit = fields.edit(&links.own_host, links.is_reserved);
    edit.map_err(|why| Refusal::of_sentence(&why))
}

/// What new links and changes have in common.
fn common(services: &Services, body: &Parameters, target: &str) -> Result<LinkFields, Refusal> {
    let mut fields = LinkFields::default();
    if !target.is_empty() {
        let target = with_scheme(target);
        checked_target(services, &target)?;
        fields.target_url = FieldEdit::Set(target);
    }
    let description = body.filled("description").map(str::trim).map(str::to_owned);
    fields.title = FieldEdit::set_if(description);
    // The pages there send points in the place of a password that stays.
    let password = body
        .filled("password")
        .filter(|raw| raw.chars().any(|char| char != '•'));
    fields.password = FieldEdit::set_if(password.map(|raw| SecretText::new(raw.to_owned())));
    if let Some(raw) = body.filled("expire_in") {
        let lasts = duration(raw).map_err(Refusal::invalid)?;
        fields.expires_at = FieldEdit::Set(services.links.clock.now().after(lasts));
    }
    Ok(fields)
}

fn checked_target(services: &Services, target: &str) -> Result<(), Refusal> {
    match TargetUrl::parse(target, &services.links.own_host) {
        Ok(_) => Ok(()),
        Err(InvalidTarget::OwnHost) => {
            let host = services.site.host();
            Err(Refusal::invalid(format!("{host} URLs are not allowed.")))
        }
        Err(why) => Err(Refusal::invalid(format!("URL is not valid: it {why}."))),
    }
}

fn checked_code(services: &Services, code: &str) -> Result<(), Refusal> {
    match CustomCode::parse(code, services.links.is_reserved) {
        Ok(_) => Ok(()),
        Err(InvalidCustomCode::Reserved) => Err(Refusal::invalid("You can't use this custom URL.")),
        Err(InvalidCustomCode::Shape) => Err(Refusal::invalid("Custom URL is not valid.")),
    }
}
