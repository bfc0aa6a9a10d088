//! "Which rule would this visitor meet?": a visitor of whom a person says what it is.

use std::net::IpAddr;

use serde::Deserialize;

use super::form::moment;
use super::language::Language;
use super::rule_words;
use crate::domain::agent_words::{BROWSERS, DEVICES, SYSTEMS};
use crate::domain::rules::{AgentFacts, KnownVisitor, VisitorSource};
use crate::domain::{Rules, TargetUrl, Timestamp};
use crate::http::ApiError;

/// What the form says of a visitor; empty texts are not known.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Trial {
    /// Whether the form was sent.
    #[serde(rename = "try")]
    pub(super) is_asked: String,
    pub(super) device: String,
    pub(super) os: String,
    pub(super) browser: String,
    pub(super) bot: String,
    pub(super) language: String,
    pub(super) country: String,
    pub(super) query: String,
    pub(super) address: String,
    pub(super) time: String,
}

/// The visitor at a moment.
struct Imagined<'a> {
    trial: &'a Trial,
    at: Timestamp,
}

impl VisitorSource for Imagined<'_> {
    fn agent(&self) -> AgentFacts {
        let word = |words: &[&'static str], given: &str| {
            let mut words = words.iter().copied();
            words.find(|word| word.eq_ignore_ascii_case(given))
        };
        AgentFacts {
            device: word(&DEVICES, &self.trial.device),
            os: word(&SYSTEMS, self.trial.os.trim()),
            browser: word(&BROWSERS, self.trial.browser.trim()),
            is_bot: Some(self.trial.bot == "true"),
        }
    }

    fn country(&self) -> Option<[u8; 2]> {
        let letters = self.trial.country.trim().to_ascii_uppercase();
        letters.as_bytes().try_into().ok()
    }

    fn accept_language(&self) -> &[u8] {
        self.trial.language.as_bytes()
    }

    fn query(&self) -> &str {
        self.trial.query.trim().trim_start_matches('?')
    }

    fn address(&self) -> Option<IpAddr> {
        self.trial.address.trim().parse().ok()
    }

    fn now(&self) -> Timestamp {
        self.at
    }
}

impl Trial {
    /// All kinds of devices, and whether each is chosen.
    pub(super) fn all_devices(&self) -> Vec<(&'static str, bool)> {
        let devices = DEVICES.iter();
        devices
            .map(|device| (*device, *device == self.device))
            .collect()
    }

    /// Which rule the visitor meets, in a sentence, and where it leads.
    ///
    /// # Errors
    /// 422 for an invalid moment.
    pub(super) fn outcome(
        &self,
        language: Language,
        rules: Option<&Rules>,
        target: &TargetUrl,
        now: Timestamp,
    ) -> Result<(String, String), ApiError> {
        let at = moment("time", &self.time)?.unwrap_or(now);
        let source = Imagined { trial: self, at };
        let visitor = KnownVisitor::new(&source);
        let met = rules.and_then(|rules| Some((rules, rules.first_met(&visitor)?)));
        let rule = met.and_then(|(rules, place)| Some((place, rules.as_slice().get(place)?)));
        Ok(match rule {
            None => (
                language.text("rules_meets_none").to_owned(),
                target.as_str().to_owned(),
            ),
            Some((place, rule)) => {
                let name = match &rule.name {
                    Some(name) => format!("{} (\u{201c}{}\u{201d})", place + 1, name.as_str()),
                    None => (place + 1).to_string(),
                };
                (
                    language.with("rules_meets", &[("rule", &name)]),
                    rule_words::leads(language, &rule.leads),
                )
            }
        })
    }
}
