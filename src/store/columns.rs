//! Reads the types of the domain from columns.

use super::StoreError;
use super::sql::{Column, Row};
use crate::domain::{
    Aliases, DomainId, EmailAddress, GroupName, GroupRole, KeyName, LinkId, MaxClicks, Month,
    PasswordHash, PoolId, PrivateNote, RemovalId, RemovalStatus, Rules, Scope, ShortCode, Tags,
    TargetUrl, Timestamp, Title, TokenKey, UserId,
};

/// A column of a type that is kept as another one.
macro_rules! columns {
    ($($type:ty: $stored:ty, $value:ident => $read:expr;)+) => {$(
        impl Column for $type {
            fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
                let $value: $stored = row.get(name)?;
                $read.ok_or_else(|| {
                    let value = row.get::<$stored>(name);
                    StoreError::Unexpected(format!("invalid value in the column {name}: {value:?}"))
                })
            }
        }
    )+};
}

columns! {
    Aliases: String, json => aliases(&json);
    DomainId: i64, number => DomainId::parse(number);
    EmailAddress: String, address => Some(EmailAddress::from_stored(address));
    GroupName: String, name => Some(GroupName::from_stored(name));
    GroupRole: String, name => GroupRole::parse(&name).ok();
    KeyName: String, name => Some(KeyName::from_stored(name));
    LinkId: i64, number => LinkId::parse(number);
    MaxClicks: i64, number => MaxClicks::parse(number.unsigned_abs()).ok();
    Month: String, text => Month::parse(&text).ok();
    PasswordHash: String, hash => Some(PasswordHash::from_stored(&hash));
    PoolId: i64, number => PoolId::parse(number);
    RemovalId: i64, number => Some(RemovalId(number));
    RemovalStatus: i64, number => u16::try_from(number).ok().and_then(|status| RemovalStatus::parse(status).ok());
    Rules: String, json => Rules::from_stored(&json);
    Scope: String, name => Scope::parse(&name);
    ShortCode: String, code => ShortCode::from_key(&code);
    Tags: String, json => tags(&json);
    TargetUrl: String, url => Some(TargetUrl::from_stored(&url));
    Timestamp: i64, micros => Timestamp::from_micros(micros);
    u64: i64, count => Some(count.unsigned_abs());
    UserId: i64, number => Some(UserId(number));
}

/// No message has it.
impl Column for TokenKey {
    fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
        let bytes: Vec<u8> = row.get(name)?;
        let invalid = || StoreError::Unexpected(format!("invalid key in the column {name}"));
        TokenKey::from_bytes(&bytes).ok_or_else(invalid)
    }
}

/// An empty text is stored for a link without a title.
impl Column for Option<Title> {
    fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
        let title: String = row.get(name)?;
        Ok(Title::from_stored(&title))
    }
}

/// An empty text is stored for a link without a note.
impl Column for Option<PrivateNote> {
    fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
        let note: String = row.get(name)?;
        Ok(PrivateNote::from_stored(&note))
    }
}

/// Most links have no aliases.
fn aliases(json: &str) -> Option<Aliases> {
    if json == "[]" {
        return Some(Aliases::default());
    }
    let codes: Vec<String> = serde_json::from_str(json).ok()?;
    let codes = codes.iter().map(|code| ShortCode::from_key(code));
    Some(Aliases::from_stored(codes.collect::<Option<_>>()?))
}

/// Most links have no tags.
fn tags(json: &str) -> Option<Tags> {
    let tags = if json == "[]" {
        Vec::new()
    } else {
        serde_json::from_str(json).ok()?
    };
    Some(Tags::from_stored(tags))
}
