//! Reasons of libraries, in words for a person.

use std::io;

/// Why a text is not JSON, from the message of the parser without the position.
#[must_use]
pub fn json_reason(fault: &str) -> &'static str {
    match fault {
        "expected value" => "a value is missing",
        "expected ident" => "a word is neither true, false nor null",
        "expected `:`" => "a colon is missing after a name",
        "expected `,` or `]`" | "expected `,` or `}`" => {
            "a comma or the closing bracket is missing"
        }
        "invalid escape" => "an escape after \\ is invalid",
        "invalid number" => "a number is malformed",
        "invalid unicode code point" => "it is not UTF-8",
        "key must be a string" => "a name must be in double quotes",
        "number out of range" => "a number is too large",
        "recursion limit exceeded" => "it is nested too deeply",
        "trailing comma" => "a comma has nothing after it",
        "trailing characters" => "more follows",
        _ if fault.starts_with("EOF ") => "it ends too early",
        _ if fault.starts_with("control character") => "a control character must be escaped",
        _ if fault.contains("hex escape") => "half a character is missing",
        _ => "it is malformed",
    }
}

/// Why a file cannot be read or written: the system's sentence without the number of the error, in lower case.
#[must_use]
pub fn io_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error ").next().unwrap_or_default();
    let mut letters = reason.chars();
    match (error.raw_os_error(), letters.next()) {
        (Some(_), Some(first)) => first.to_lowercase().chain(letters).collect(),
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_the_system_has_no_number() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(io_reason(&missing), "no such file or directory");
        assert_eq!(
            io_reason(&io::Error::other("SETTINGS is not UTF-8")),
            "SETTINGS is not UTF-8"
        );
    }

    #[test]
    fn no_reason_has_words_of_the_parser() {
        for (text, reason) in [
            ("[1", "it ends too early"),
            ("[1 2]", "a comma or the closing bracket is missing"),
            ("{\"a\" 1}", "a colon is missing after a name"),
            ("[\"\\x\"]", "an escape after \\ is invalid"),
            ("[1.]", "a number is malformed"),
            ("[tru]", "a word is neither true, false nor null"),
            ("[1,]", "a comma has nothing after it"),
            ("{a: 1}", "a name must be in double quotes"),
        ] {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            let fault = error.to_string();
            let fault = fault.split(" at line ").next().unwrap();
            assert_eq!(json_reason(fault), reason, "{text}: {fault}");
        }
    }
}
