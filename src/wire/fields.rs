//! The fields of a link as a request has them, each declared once.

use serde::Serialize;
use utoipa::ToSchema;

use self::DocumentKind::{Bulk, Form, Object, Patch, Query, Table};
#[cfg(test)]
use super::link::OwnerSchema;
#[cfg(test)]
use super::link::ViewWord;
use super::rules::RulesJson;
#[cfg(test)]
use super::rules_schema::RuleBody;
use super::value::{Ignored, OwnerWord, SecretText, Value, sentence};
#[cfg(test)]
use crate::domain::LinkStatus;
use crate::domain::{
    Aliases, CustomCode, DomainId, FieldEdit, LinkEdit, LinkPassword, LinkProperties, LinkRequest,
    MaxClicks, NewOwner, OwnHost, PasswordHash, PrivateNote, Rules, StartingClicks, TagEdit, Tags,
    TargetUrl, Timestamp, Title,
};

/// Declares the fields: what each says, its kind and type, and the documents that have it.
macro_rules! link_fields {
    ($($(#[$attribute:meta])+ $name:ident: $kind:ident($value:ty), $documents:expr;)+) => {
        /// What a request says of a link: a field is absent, taken away (`null`), or given.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
        pub struct LinkFields {
            $($(#[$attribute])+
            #[serde(skip_serializing_if = "FieldEdit::is_kept")]
            pub $name: FieldEdit<$value>,)+
        }

        /// Each field, in the order in which documents have them and values are checked.
        static FIELDS: &[Field] = &[$(Field {
            name: stringify!($name),
            documents: $documents,
            value: |fields| Value::$kind(&mut fields.$name),
        }),+];
    };
}

const NEW: &[DocumentKind] = &[Query, Object, Bulk, Form, Table];
/// The host of a link never changes.
const PLACED: &[DocumentKind] = NEW;
const IN_BODY: &[DocumentKind] = &[Object, Bulk, Form, Table, Patch];
const ANY: &[DocumentKind] = &[Query, Object, Bulk, Form, Table, Patch];
/// Forms have rules on a page of their own.
const RULED: &[DocumentKind] = &[Query, Object, Bulk, Table, Patch];

link_fields! {
    /// Absolute `http` or `https` URL of at most 2048 bytes: without control characters, without user name or password, and not on
    /// this service's own host. It is stored and returned exactly as given. A new link requires it. In a query it is percent-encoded,
    /// as every parameter; in `POST /urls/bulk` it may have letters beyond ASCII, as in an export.
    #[schema(value_type = String, example = "https://example.org/a/long/path", format = "uri", max_length = 2048)]
    target_url: Text(String), ANY;
    /// A code of your choice, in exactly this case. It has at least 4 characters, unless the service is set up otherwise; in
    /// `POST /urls/bulk`, and of an administrator, it may be shorter.
    #[schema(value_type = Option<String>, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    custom_code: Text(String), NEW;
    /// The host of the link: one of `GET /domains`. Without it, this service's own. It never changes.
    #[schema(value_type = Option<String>)]
    domain: Text(String), PLACED;
    /// The moment from which the link is not followed any more: RFC 3339 with a zone. Of a new link it is in the future, unless
    /// `created_at` shows an exported link. Otherwise a moment in the past ends the link now.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Moment(Timestamp), ANY;
    /// Redirects that are answered in all, those up to now included.
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    max_clicks: Limit(MaxClicks), ANY;
    /// A name for you, of up to 200 characters.
    #[schema(value_type = Option<String>, max_length = 200)]
    title: Text(String), ANY;
    /// Up to 20 words of up to 50 characters that group your links; in a query with commas between. A change names all tags that
    /// the link has afterwards.
    #[schema(value_type = Option<Vec<String>>, max_items = 20)]
    tags: Words(Vec<String>), ANY;
    /// Whether a visitor's query is added to that of the target; if both have a parameter of the same name, the visitor's value
    /// is used. A visit whose `Location` would be longer than 8192 bytes is answered 414, and one whose `Location` would be a URL that
    /// the service refuses is answered 410.
    #[schema(value_type = Option<bool>)]
    forward_query: Flag(bool), ANY;
    /// The moment from which the link is followed: RFC 3339 with a zone, before `expires_at`. Until then the link is `scheduled`:
    /// visits are not counted, and are answered 404 or lead to `fallback_url`; only its owner sees the target.
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_at: Moment(Timestamp), ANY;
    /// Where visitors are sent before `starts_at`, after `expires_at`, and once `max_clicks` are used up: a URL as `target_url`. Such a
    /// visit is not counted. Visitors of an inactive or removed link are not sent there.
    #[schema(value_type = Option<String>, format = "uri", max_length = 2048)]
    fallback_url: Text(String), ANY;
    /// A note for you, of up to 2,000 characters in any number of lines, which only you see. `q` finds it.
    #[schema(value_type = Option<String>, max_length = 2_000)]
    note: Text(String), ANY;
    /// Whether search engines are asked not to list the link: its redirect has `X-Robots-Tag: noindex`.
    #[schema(value_type = Option<bool>)]
    noindex: Flag(bool), ANY;
    /// The password that visitors need, of 4 to 128 characters. No response has it. A query has it neither: addresses get into logs.
    #[schema(value_type = Option<String>, min_length = 4, max_length = 128, format = Password, write_only)]
    password: Secret(SecretText), IN_BODY;
    /// The hash of the password, as an export with `secrets=true` has it: Argon2id as a PHC string, or bcrypt.
    #[schema(value_type = Option<String>, write_only)]
    password_hash: Secret(SecretText), &[Bulk, Table];
    /// Of an export: a link with a password is refused if the export has no `password_hash`.
    #[schema(value_type = Option<bool>)]
    has_password: Flag(bool), &[Bulk, Table];
    /// Where some visitors are sent instead of to `target_url`: up to 20 rules in order, of which the first whose conditions all hold
    /// decides; 65536 bytes of JSON at most. Each has `target_url`, or `split` with 2 to 10 targets of weights from 1 to 1000, which
    /// `sticky` gives to a visitor for a day (UTC). A change names all rules that the link has afterwards. In a query and in a table it is
    /// JSON text.
    #[schema(value_type = Option<Vec<RuleBody>>, max_items = 20)]
    rules: Rules(RulesJson), RULED;
    /// Up to 20 more codes of the link, each as `custom_code`; in a query with commas between. Each leads where the link leads and counts
    /// for it; `by=code` tells their clicks apart. A change names all aliases that the link has afterwards: the others lead nowhere any
    /// more, and only you may use them again.
    #[schema(value_type = Option<Vec<String>>, max_items = 20)]
    aliases: Words(Vec<String>), ANY;
    /// Clicks that another service counted for it.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    clicks: Count(StartingClicks), &[Bulk, Table];
    /// Whether the link is followed. A new link is, unless this is `false`.
    #[schema(value_type = Option<bool>)]
    is_active: Flag(bool), &[Bulk, Form, Table, Patch];
    /// The account or the group to which the link is moved: `me`, or the number of a group in which you are at least an editor. It needs a
    /// log-in, and no other field beside it. Of an export; ignored.
    #[schema(value_type = Option<OwnerSchema>)]
    owner: Owner(OwnerWord), &[Bulk, Patch];
    /// Of an export: the code, if `custom_code` is missing.
    #[schema(value_type = Option<String>, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: Text(String), &[Bulk];
    /// Of an export: the link may have ended already. The new link is created now.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_at: Text(String), &[Bulk];
    /// Of an export; ignored, as are `short_url`, `status` and `updated_at`.
    #[schema(value_type = Option<i64>, minimum = 1)]
    id: Ignored(Ignored), &[Bulk];
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = "uri")]
    short_url: Ignored(Ignored), &[Bulk];
    /// Of an export; ignored.
    #[schema(value_type = Option<LinkStatus>)]
    status: Ignored(Ignored), &[Bulk];
    /// Of an export; ignored.
    #[schema(value_type = Option<String>, format = DateTime)]
    updated_at: Ignored(Ignored), &[Bulk];
    /// `full`: the response has all fields of the link.
    #[schema(value_type = Option<ViewWord>)]
    view: Text(String), &[Query, Object];
}

/// The documents that have fields of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// The query of `POST /urls/shorten`.
    Query,
    /// Its body.
    Object,
    /// An object of `POST /urls/bulk`, which an export may have written.
    Bulk,
    /// A change of a link.
    Patch,
    /// A form of the pages.
    Form,
    /// A row of a table, as people write it.
    Table,
}

impl DocumentKind {
    /// The documents of the API.
    pub(super) const OF_API: [Self; 4] = [Query, Object, Bulk, Patch];

    /// The fields that the document has.
    pub fn fields(self) -> impl Iterator<Item = &'static Field> {
        let fields = FIELDS.iter();
        fields.filter(move |field| field.documents.contains(&self))
    }
}

/// A field by its name.
#[derive(Debug)]
pub struct Field {
    /// Its name in every document.
    pub name: &'static str,
    documents: &'static [DocumentKind],
    /// Its value among all fields.
    pub value: fn(&mut LinkFields) -> Value<'_>,
}

impl Field {
    /// Whether it is true or false.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        matches!((self.value)(&mut LinkFields::default()), Value::Flag(_))
    }

    /// Whether it is a time.
    #[must_use]
    pub fn is_moment(&self) -> bool {
        matches!((self.value)(&mut LinkFields::default()), Value::Moment(_))
    }
}

impl LinkFields {
    /// A new link of which nothing else is said.
    #[must_use]
    pub fn new_link() -> Self {
        Self {
            forward_query: FieldEdit::Set(false),
            noindex: FieldEdit::Set(false),
            has_password: FieldEdit::Set(false),
            clicks: FieldEdit::Set(StartingClicks::default()),
            is_active: FieldEdit::Set(true),
            ..Self::default()
        }
    }

    /// The fields of a document that has only texts, by their names.
    ///
    /// # Errors
    /// A sentence that begins with the name of a field, here as below. Values that cannot be read are refused first, then
    /// values that break a rule. Of several the first one is named, by the order of the declaration.
    pub fn of_texts(
        document: DocumentKind,
        mut text: impl FnMut(&'static str) -> FieldEdit<String>,
    ) -> Result<Self, String> {
        let mut fields = Self::default();
        for field in document.fields() {
            (field.value)(&mut fields).set(field.name, text(field.name))?;
        }
        Ok(fields)
    }

    /// The new link that is asked for. `is_reserved` says whether a code is a word of the service's own.
    ///
    /// # Errors
    /// As above.
    pub fn request(
        self,
        own_host: &OwnHost,
        is_reserved: fn(&str) -> bool,
    ) -> Result<LinkRequest, String> {
        let given = self.target_url;
        let given = given.value(|| Err("target_url: must be a string"))?;
        let raw = given.ok_or("target_url: field is required")?;
        let target = target("target_url", &raw, own_host)?;
        let code = self.custom_code.given().or(self.short_code.given());
        let code = code.map(|raw| CustomCode::parse(&raw, is_reserved));
        let custom_code = code.transpose().map_err(sentence)?;
        let title = title(self.title)?.given();
        let tags = tags(self.tags)?.given().unwrap_or_default();
        let new_password = password(self.password)?.given();
        let hash = password_hash(self.password_hash)?.filter(|_| new_password.is_none());
        if self.has_password.given() == Some(true) && new_password.is_none() && hash.is_none() {
            return Err(format!("has_password: {PASSWORD_MISSING}"));
        }
        let properties = LinkProperties {
            target,
            is_active: self.is_active.given().unwrap_or(true),
            title,
            tags,
            expires_at: self.expires_at.given(),
            max_clicks: self.max_clicks.given(),
            forward_query: self.forward_query.given().unwrap_or_default(),
            starts_at: self.starts_at.given(),
            fallback: fallback(self.fallback_url, own_host)?.given(),
            note: note(self.note)?.given(),
            noindex: self.noindex.given().unwrap_or_default(),
            password: hash,
            rules: rules(self.rules, own_host)?.given(),
            aliases: aliases(self.aliases, is_reserved)?.unwrap_or_default(),
        };
        if let Some(code) = &custom_code {
            let is_other = properties.aliases.beside(code.as_code());
            is_other.map_err(sentence)?;
        }
        Ok(LinkRequest {
            properties: properties.checked().map_err(sentence)?,
            domain: self.domain.given().filter(|domain| !domain.is_empty()),
            at: DomainId::OWN,
            custom_code,
            clicks: self.clicks.given().unwrap_or_default().number(),
            may_have_ended: self.created_at.given().is_some(),
            new_password,
        })
    }

    /// To whom the link is to be moved, if this is asked for, and nothing else.
    ///
    /// # Errors
    /// As above.
    pub fn new_owner(&self) -> Result<Option<NewOwner>, String> {
        let owner = match self.owner {
            FieldEdit::Keep => return Ok(None),
            FieldEdit::Clear => return Err("owner: must not be null".to_owned()),
            FieldEdit::Set(OwnerWord(owner)) => owner,
        };
        let rest = Self {
            owner: FieldEdit::Keep,
            ..self.clone()
        };
        if rest != Self::default() {
            return Err(
                "owner: must be the only field; send the others in another request".to_owned(),
            );
        }
        Ok(Some(owner))
    }

    /// The change of a link that is asked for.
    ///
    /// # Errors
    /// As above.
    pub fn edit(
        self,
        own_host: &OwnHost,
        is_reserved: fn(&str) -> bool,
    ) -> Result<LinkEdit, String> {
        let given = self.target_url;
        let given = given.value(|| Err("target_url: must not be null"))?;
        let target = given.map(|raw| target("target_url", &raw, own_host));
        let (password, new_password) = match password(self.password)? {
            FieldEdit::Keep => (FieldEdit::Keep, None),
            FieldEdit::Clear => (FieldEdit::Clear, None),
            FieldEdit::Set(password) => (FieldEdit::Keep, Some(password)),
        };
        Ok(LinkEdit {
            target: target.transpose()?,
            title: title(self.title)?,
            tags: tags(self.tags)?
                .value(|| Ok::<_, String>(Tags::default()))?
                .map(TagEdit::Set),
            expires_at: self.expires_at,
            max_clicks: self.max_clicks,
            forward_query: self.forward_query.value(|| Ok::<_, String>(false))?,
            note: note(self.note)?,
            noindex: self.noindex.value(|| Ok::<_, String>(false))?,
            password,
            new_password,
            is_active: (self.is_active).value(|| Err("is_active: must not be null"))?,
            starts_at: self.starts_at,
            fallback: fallback(self.fallback_url, own_host)?,
            rules: rules(self.rules, own_host)?,
            aliases: aliases(self.aliases, is_reserved)?,
        })
    }
}

/// A URL to which visitors are sent, from the field with this name.
fn target(field: &str, raw: &str, own_host: &OwnHost) -> Result<TargetUrl, String> {
    let target = TargetUrl::parse(raw, own_host);
    target.map_err(|error| format!("{field}: {error}"))
}

fn fallback(raw: FieldEdit<String>, own_host: &OwnHost) -> Result<FieldEdit<TargetUrl>, String> {
    raw.parsed(|raw| target("fallback_url", &raw, own_host).map(Some))
}

/// Why a link is not made without its password.
const PASSWORD_MISSING: &str = "is protected by a password whose hash is missing, and here it would be open to everyone; export it with the hash, or leave the link out";

fn password(raw: FieldEdit<SecretText>) -> Result<FieldEdit<LinkPassword>, String> {
    raw.parsed(|raw| LinkPassword::parse(raw.expose()).map(Some))
        .map_err(sentence)
}

fn password_hash(raw: FieldEdit<SecretText>) -> Result<Option<PasswordHash>, String> {
    let hash = raw.given().filter(|raw| !raw.expose().is_empty());
    let hash = hash.map(|raw| PasswordHash::parse(raw.expose()));
    hash.transpose().map_err(sentence)
}

fn rules(raw: FieldEdit<RulesJson>, own_host: &OwnHost) -> Result<FieldEdit<Rules>, String> {
    raw.parsed(|list| Rules::parse(&list.0, own_host))
}

fn title(raw: FieldEdit<String>) -> Result<FieldEdit<Title>, String> {
    raw.parsed(|raw| Title::parse(&raw)).map_err(sentence)
}

fn note(raw: FieldEdit<String>) -> Result<FieldEdit<PrivateNote>, String> {
    raw.parsed(|raw| PrivateNote::parse(&raw)).map_err(sentence)
}

fn aliases(
    raw: FieldEdit<Vec<String>>,
    is_reserved: fn(&str) -> bool,
) -> Result<Option<Aliases>, String> {
    let raw = raw.value(|| Ok::<_, String>(Vec::new()))?;
    let parse = |raw: Vec<String>| Aliases::parse(raw.iter().map(String::as_str), is_reserved);
    raw.map(parse).transpose().map_err(sentence)
}

fn tags(raw: FieldEdit<Vec<String>>) -> Result<FieldEdit<Tags>, String> {
    let parse = |raw: Vec<String>| Tags::parse(raw.iter().map(String::as_str)).map(Some);
    raw.parsed(parse).map_err(sentence)
}
