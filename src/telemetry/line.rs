//! Lines of the log that are written past the subscriber, in the shape of its own: before it is there, after it has gone, and
//! by a panic.

use std::io::{self, Write};
use std::panic::{PanicHookInfo, set_hook};

use serde_json::{Map, Value, json};

use crate::domain::{Clock, SystemClock};

/// A line of the JSON log, with the time of this machine; `fields` are an object.
#[must_use]
pub fn json_line(message: &str, fields: Value) -> String {
    let mut all = Map::from_iter([("message".to_owned(), message.into())]);
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    json!({
        "timestamp": SystemClock.now().to_string(),
        "level": "ERROR",
        "fields": all,
        "target": "shunt",
    })
    .to_string()
}

/// From now on a panic is a line of the JSON log, not several of text. The writer of the log may end with the process, so
/// the line goes past it.
pub(super) fn log_panics_as_json() {
    set_hook(Box::new(|panic| {
        // Without a standard error there is no log.
        let _ = writeln!(io::stderr(), "{}", of_panic(panic));
    }));
}

fn of_panic(panic: &PanicHookInfo<'_>) -> String {
    let message = panic.payload_as_str().unwrap_or("a panic without a text");
    let location = panic.location().map(ToString::to_string);
    let thread = std::thread::current().name().map(ToOwned::to_owned);
    let fields = json!({ "panic": message, "location": location, "thread": thread });
    json_line("a part of the service panicked", fields)
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, take_hook};
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_panic_is_one_line_of_json_with_its_place() {
        let line = Arc::new(Mutex::new(String::new()));
        let hooked = Arc::clone(&line);
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            *hooked.lock().unwrap() = of_panic(panic);
        }));
        let outcome = catch_unwind(|| panic!("first line\nsecond line"));
        set_hook(before);
        assert!(outcome.is_err());
        let line = line.lock().unwrap().clone();
        assert_eq!(line.lines().count(), 1, "{line}");
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["fields"]["panic"], "first line\nsecond line");
        let location = line["fields"]["location"].as_str().unwrap();
        assert!(location.contains("line.rs"), "{location}");
    }
}
