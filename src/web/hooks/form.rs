//! The fields of a hook.

use super::type_text;
use crate::domain::{EventType, HookFilter, HookTargets, HookUrl, Tags};
use crate::http::ApiError;
use crate::store::Hook;
use crate::web::form::{Fault, Form};
use crate::web::scheme::with_scheme;

/// The fields as a page shows them.
pub(super) struct HookForm {
    pub(super) url: String,
    pub(super) tags: String,
    types: Vec<EventType>,
    fault: Option<Fault>,
}

impl HookForm {
    /// A new hook is sent all that happens.
    pub(super) fn new() -> Self {
        Self {
            url: String::new(),
            tags: String::new(),
            types: EventType::ALL.to_vec(),
            fault: None,
        }
    }

    /// A hook as it is.
    pub(super) fn of(hook: &Hook) -> Self {
        Self {
            url: hook.url.as_str().to_owned(),
            tags: hook.filter.tags.as_slice().join(", "),
            types: hook.filter.types.clone(),
            fault: None,
        }
    }

    /// What was sent.
    pub(super) fn sent(form: &Form) -> Self {
        Self {
            url: with_scheme(form.get("url").trim()),
            tags: form.get("tags").to_owned(),
            types: form.all("type").filter_map(EventType::parse).collect(),
            fault: None,
        }
    }

    /// The same with what is wrong.
    pub(super) fn refused(self, error: &ApiError) -> Self {
        let fault = Some(Fault::of(error, &["url", "types", "tags"]));
        Self { fault, ..self }
    }

    /// The hook that is asked for.
    ///
    /// # Errors
    /// 422, which names the field.
    pub(super) fn parse(&self, targets: HookTargets) -> Result<(HookUrl, HookFilter), ApiError> {
        let url = HookUrl::parse(&self.url, targets);
        let url = url.map_err(|error| ApiError::invalid(format!("url: {error}")))?;
        if self.types.is_empty() {
            return Err(ApiError::invalid("types: must name at least one type"));
        }
        let tags = Tags::parse_list(&self.tags);
        let tags = tags.map_err(|error| ApiError::invalid(error.to_string()))?;
        let types = self.types.clone();
        Ok((url, HookFilter { types, tags }))
    }

    /// What is wrong with a field; with an empty `field`, with no field.
    pub(super) fn fault_of(&self, field: &str) -> Option<&str> {
        self.fault.as_ref()?.at(field)
    }

    /// The word of each type, the name of its text, and whether it is ticked.
    pub(super) fn all_types(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let types = EventType::ALL.into_iter();
        types.map(|of| (of.as_str(), type_text(of), self.types.contains(&of)))
    }
}
