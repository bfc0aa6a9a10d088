//! A statement as a document: what is signed, and in which form.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::{
    MAX_EXACT, Month, NotCanonical, SeriesRange, StatementKey, StatementPublicKey, Step, Tally,
    Timestamp, canonical_json, sha256_of,
};

/// The clicks of a link in a month, signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The link's own code.
    #[schema(example = "spring-sale", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub short_code: String,
    /// The host at which it is followed; `null`: the service's own.
    #[schema(required = true, example = "go.example.org")]
    pub domain: Option<String>,
    /// The month.
    #[schema(example = "2026-10", pattern = "^[0-9]{4}-[0-9]{2}$")]
    pub month: String,
    /// The time zone in which its days begin.
    #[schema(example = "Europe/Berlin")]
    pub tz: String,
    /// Every day of the month, in order.
    #[schema(max_items = 31)]
    pub days: Vec<StatementDay>,
    /// Clicks of all days.
    #[schema(example = 1200)]
    pub clicks: u64,
    /// Clicks without those of known bots; `null`: the service did not tell bots from people when the statement was issued.
    #[schema(required = true, example = 1170)]
    pub people: Option<u64>,
    /// `sha256:` and the SHA-256 of the statement of the month before, as it is answered; `null`: the link was made in this month.
    #[schema(
        required = true,
        example = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )]
    pub previous: Option<String>,
    /// When it was issued. Clicks that came to light later are in the series, and not in the statement.
    #[schema(example = "2026-11-01T00:15:02.123456Z", format = DateTime)]
    pub issued_at: String,
    /// Which key of `/.well-known/shunt-keys.json` signed it.
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    pub key_id: String,
    /// The signature, by Ed25519 and in base64url, of the canonical JSON (RFC 8785) of all other fields.
    #[schema(
        example = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    )]
    pub signature: String,
}

/// A day of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementDay {
    /// The date.
    #[schema(example = "2026-10-01", format = Date)]
    pub date: String,
    /// Clicks that were recorded on it.
    #[schema(example = 40)]
    pub clicks: u64,
    /// Clicks without those of known bots, or `null`, as above.
    #[schema(required = true, example = 39)]
    pub people: Option<u64>,
}

/// What a statement is made of.
pub(super) struct Facts<'a> {
    pub(super) short_code: &'a str,
    pub(super) domain: Option<String>,
    pub(super) month: Month,
    pub(super) days: &'a SeriesRange,
    /// The start and the clicks of each day.
    pub(super) points: Vec<(Timestamp, Tally)>,
    pub(super) knows_bots: bool,
    pub(super) previous: Option<String>,
    pub(super) issued_at: Timestamp,
}

impl Facts<'_> {
    /// The statement, in the form in which it is kept, answered and digested.
    pub(super) fn signed(self, key: &StatementKey) -> Result<String, NotCanonical> {
        let (zone, mut sum) = (self.days.zone(), Tally::default());
        let people = |tally: Tally| self.knows_bots.then(|| tally.people().min(MAX_EXACT));
        let days = self.points.iter().map(|(at, tally)| {
            sum.add(*tally);
            StatementDay {
                date: zone.shown(Step::Day, *at),
                clicks: tally.clicks.min(MAX_EXACT),
                people: people(*tally),
            }
        });
        let days = days.collect();
        let statement = Statement {
            short_code: self.short_code.to_owned(),
            domain: self.domain,
            month: self.month.to_string(),
            tz: zone.name().to_owned(),
            days,
            clicks: sum.clicks.min(MAX_EXACT),
            people: people(sum),
            previous: self.previous,
            issued_at: self.issued_at.to_string(),
            key_id: key.public().id(),
            signature: String::new(),
        };
        let signature = key.sign(statement.message()?.as_bytes());
        let statement = Statement {
            signature,
            ..statement
        };
        statement.canonical()
    }
}

impl Statement {
    /// What is signed: the canonical form without the signature.
    fn message(&self) -> Result<String, NotCanonical> {
        let mut value = serde_json::to_value(self).map_err(|_| NotCanonical)?;
        if let Value::Object(fields) = &mut value {
            fields.remove("signature");
        }
        canonical_json(&value)
    }

    /// The form in which it is answered and digested.
    pub(super) fn canonical(&self) -> Result<String, NotCanonical> {
        canonical_json(&serde_json::to_value(self).map_err(|_| NotCanonical)?)
    }

    /// Its digest, as the statement of the next month has it.
    ///
    /// # Errors
    /// [`NotCanonical`].
    pub fn digest(&self) -> Result<String, NotCanonical> {
        Ok(sha256_of(&self.canonical()?))
    }

    /// Whether the key has signed what it says.
    pub(super) fn is_signed_by(&self, key: StatementPublicKey) -> Result<bool, NotCanonical> {
        let message = self.message()?;
        Ok(key.has_signed(message.as_bytes(), &self.signature))
    }
}
