//! Events as documents.

use crate::domain::{ClickClass, Dimension, EventType};
use crate::store::{Event, Happened};
use crate::wire::{ClassBody, EventBody};

/// The document of an event of a link on a host; `None`: the service's own.
#[must_use]
pub fn event_body(event: &Event, domain: Option<String>) -> EventBody {
    let mut body = EventBody {
        id: event.cursor.to_string(),
        of: event.happened.event_type().as_str().to_owned(),
        at: event.at.to_string(),
        short_code: event.code.as_ref().map(|code| code.as_str().to_owned()),
        domain,
        target_url: None,
        title: None,
        tags: None,
        interval: None,
        clicks: None,
        classes: None,
        hook: None,
        host: None,
        reason: None,
    };
    match &event.happened {
        Happened::Clicks {
            interval,
            clicks,
            classes,
        } => {
            let classes = classes.iter();
            let classes = classes.map(|(class, clicks)| class_body(class, *clicks));
            body.interval = Some(interval.starts_at().to_string());
            body.clicks = Some(*clicks);
            body.classes = Some(classes.collect());
        }
        Happened::ToLink {
            of,
            target_url,
            title,
            clicks,
        } => {
            body.target_url = Some(target_url.clone());
            body.title = Some(title.clone());
            body.tags = Some(event.tags.clone());
            body.clicks = (*of == EventType::Created).then_some(*clicks);
        }
        Happened::HookOff { hook, host, reason } => {
            body.hook = Some(*hook);
            body.host = Some(host.clone());
            body.reason = Some(reason.clone());
        }
    }
    body
}

fn class_body(class: &ClickClass, clicks: u64) -> ClassBody {
    let value = |dimension| class.value(dimension).map(str::to_owned);
    ClassBody {
        clicks,
        referrer: value(Dimension::Referrer),
        country: value(Dimension::Country),
        browser: value(Dimension::Browser),
        os: value(Dimension::Os),
        device: value(Dimension::Device),
        rule: value(Dimension::Rule),
        code: value(Dimension::Code),
        bot: class.value(Dimension::Bot).map(|value| value == "true"),
    }
}
