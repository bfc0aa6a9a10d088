//! The fields of a form: bounded like every body, each field by its name, several fields of one name in order.

use axum::body::Body;
use axum::extract::FromRequest;
use axum::http::Request;
use axum::http::header::CONTENT_TYPE;

use crate::domain::Timestamp;
use crate::http::{ApiError, BodyLimits, is_multipart, parts, read_body};
use crate::import::Encoding;
use crate::limits::ClientShare;

/// Most fields that are read.
const MAX_FIELDS: usize = 1_100;

/// The fields of a form.
pub(super) struct Form {
    fields: Vec<(String, String)>,
    /// The fields take as much memory as the body did.
    _room: Option<ClientShare>,
}

impl Form {
    /// The first value of a field; empty if the field is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        let mut fields = self.fields.iter();
        let field = fields.find(|(field, _)| field == name);
        field.map_or("", |(_, value)| value)
    }

    /// All values of a field.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// Whether a box is ticked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name)
    }

    /// Takes the value of a field, so that a password is in memory once.
    pub(super) fn take(&mut self, name: &str) -> String {
        let mut fields = self.fields.iter_mut();
        let field = fields.find(|(field, _)| field == name);
        field.map_or_else(String::new, |(_, value)| std::mem::take(value))
    }
}

/// The API's own sentence, and the field it belongs to.
pub(super) struct Fault {
    field: &'static str,
    text: String,
}

impl Fault {
    /// The fault of a form that has these fields.
    pub(super) fn of(error: &ApiError, known: &[&'static str]) -> Self {
        let detail = error.detail();
        let split = detail.split_once(": ");
        let field = split.and_then(|(name, text)| {
            let field = known.iter().find(|known| **known == name)?;
            Some((*field, text))
        });
        let (field, text) = field.unwrap_or(("", detail));
        Self {
            field,
            text: text.to_owned(),
        }
    }

    /// The same fault, at another field.
    pub(super) fn moved(mut self, from: &str, to: &'static str) -> Self {
        if self.field == from {
            self.field = to;
        }
        self
    }

    /// The sentence, if it belongs to this field; with an empty `field`, the sentence that belongs to no field.
    pub(super) fn at(&self, field: &str) -> Option<&str> {
        (self.field == field).then_some(self.text.as_str())
    }
}

/// The moment in a field, in UTC; `None` if the field is empty.
///
/// # Errors
/// 422, which names the field.
pub(super) fn moment(name: &str, raw: &str) -> Result<Option<Timestamp>, ApiError> {
    if raw.is_empty() {
        return Ok(None);
    }
    // Browsers leave the zone out, and some the seconds.
    let forms = [raw.to_owned(), format!("{raw}Z"), format!("{raw}:00Z")];
    let mut parsed = forms.iter().map(|form| form.parse());
    let parsed = parsed.find(Result::is_ok).unwrap_or_else(|| raw.parse());
    parsed
        .map(Some)
        .map_err(|error| ApiError::invalid(format!("{name}: {error}")))
}

/// The name of the field that names a file whose text cannot be read.
pub(super) const UNREADABLE: &str = "unreadable";

/// A part as a field. Files are as their programs write them.
fn text_of_part((name, value): (String, &[u8])) -> (String, String) {
    match Encoding::text_of(value) {
        Some(text) => (name, text),
        None => (UNREADABLE.into(), name),
    }
}

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let limits: BodyLimits = request.extensions().get().copied().unwrap_or_default();
        let kind = request.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = is_multipart(kind).then(|| kind.to_owned());
        let body = read_body(request, limits).await?;
        let fields: Vec<_> = if let Some(kind) = kind {
            let parts = parts(&kind, &body);
            let parts = parts.map_err(|why| ApiError::invalid(format!("body: {why}")))?;
            let parts = parts.into_iter().take(MAX_FIELDS + 1);
            parts.map(text_of_part).collect()
        } else {
            let fields = url::form_urlencoded::parse(&body);
            fields.into_owned().take(MAX_FIELDS + 1).collect()
        };
        if fields.len() > MAX_FIELDS {
            return Err(ApiError::invalid("body: has too many fields"));
        }
        Ok(Self {
            fields,
            _room: body.into_room(),
        })
    }
}
