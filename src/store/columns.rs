//! Values of the domain in columns.

use super::StoreError;
use super::sql::{Column, Row};
use crate::domain::{
    EmailAddress, KeyName, LinkId, MaxClicks, RemovalId, RemovalStatus, Scope, ShortCode, Tags,
    TargetUrl, Timestamp, Title, TokenKey, UserId,
};

/// A column of a type that is kept as another one.
macro_rules! columns {
    ($($type:ty: $stored:ty, $value:ident => $read:expr;)+) => {$(
        impl Column for $type {
            fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
                let $value: $stored = row.get(name)?;
                let read: Option<Self> = $read;
                read.ok_or_else(|| StoreError::Unexpected(format!("invalid value in the column {name}")))
            }
        }
    )+};
}

columns! {
    EmailAddress: String, address => Some(EmailAddress::from_stored(address));
    KeyName: String, name => Some(KeyName::from_stored(name));
    LinkId: i64, number => LinkId::parse(number);
    MaxClicks: i64, number => MaxClicks::parse(number.unsigned_abs()).ok();
    RemovalId: i64, number => Some(RemovalId(number));
    RemovalStatus: i64, number => u16::try_from(number).ok().and_then(|status| RemovalStatus::parse(status).ok());
    Scope: bool, may_write => Some(if may_write { Scope::Write } else { Scope::Read });
    ShortCode: String, code => ShortCode::parse(&code);
    Tags: String, json => tags(&json);
    TargetUrl: String, url => Some(TargetUrl::from_stored(&url));
    Timestamp: i64, micros => Timestamp::from_micros(micros);
    TokenKey: Vec<u8>, bytes => TokenKey::from_bytes(&bytes);
    u64: i64, count => Some(count.unsigned_abs());
    UserId: i64, number => Some(UserId(number));
}

/// A title; an empty text is none.
impl Column for Option<Title> {
    fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
        let title: String = row.get(name)?;
        Ok(Title::from_stored(&title))
    }
}

/// Most links have none.
fn tags(json: &str) -> Option<Tags> {
    let tags = if json == "[]" {
        Vec::new()
    } else {
        serde_json::from_str(json).ok()?
    };
    Some(Tags::from_stored(tags))
}
