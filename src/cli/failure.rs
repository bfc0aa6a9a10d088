//! Why a command did not do what was asked, and the exit code that says so.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;
use shunt::domain::io_reason;
use shunt::telemetry::line::json_line;

use super::harmless::harmless;

/// The part of a command's help that says which exit codes it has.
macro_rules! exit_codes {
    (@0) => { "\n  0  done" };
    (@1) => { "\n  1  failed: a setting is wrong, or the service refused" };
    (@verify) => { "\n  1  a statement is not what the service signed, or a file cannot be read" };
    (@2) => { "\n  2  the command line is invalid" };
    (@3) => { "\n  3  not logged in, or e-mail or password are wrong" };
    (@4) => { "\n  4  no such link" };
    (@tag) => { "\n  4  no link has the tag" };
    (@key) => { "\n  4  no such key" };
    (@group) => { "\n  4  no such group or member" };
    (@5) => { "\n  5  the service cannot be reached, or asks to come back later" };
    ($($code:tt)+) => { concat!("Exit codes:", $(exit_codes!(@$code)),+) };
}
pub(super) use exit_codes;

/// The same for the commands that take the settings of the service.
pub(super) const EXIT_CODES_OF_SERVICE: &str = "\
Exit codes:
  0  done, or stopped as it was asked to
  1  failed: a setting is wrong, a dependency is missing, or a part of the service died
  2  the command line is invalid";

/// The same for health checks: container engines know only 0 and 1.
pub(super) const EXIT_CODES_OF_HEALTHCHECK: &str = "\
Exit codes:
  0  the service is ready; with --live: its process lives
  1  it is not, cannot be reached, or does not answer in time
  2  the command line is invalid";

/// The form of the line about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorForm {
    /// For people.
    Text,
    /// For scripts that read the output of the command.
    Json,
    /// A line of the JSON log.
    Log,
}

/// Why a command did not do what was asked: a sentence for people, a kind for scripts.
#[derive(Debug)]
pub(super) enum Failure {
    /// The reader of the output has closed it, as `head` does.
    OutputClosed,
    /// A setting is wrong, or something failed.
    Failed(String),
    /// The command line makes no sense.
    Usage(String),
    /// Not logged in, or the credentials are wrong.
    Refused(String),
    /// No such link or key.
    NotFound(String),
    /// The service cannot be reached, or not now.
    Unavailable(String),
    /// Some of several things failed, and each has its line already; this is the first of them.
    Reported(Box<Failure>),
}

impl Failure {
    /// Something failed, as this error says.
    pub(super) fn of(error: &dyn Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// The link that was not found, by its code: the command line may name several. The API has two wordings for this
    /// one case.
    pub(super) fn not_found(self, link: &impl Display) -> Self {
        match self {
            Self::NotFound(_) => Self::NotFound(format!("{link}: URL not found")),
            other => other,
        }
    }

    /// The same failure, which names the thing that failed.
    pub(super) fn about(self, name: &str) -> Self {
        match self {
            Self::Failed(message) => Self::Failed(format!("{}: {message}", harmless(name))),
            other => other,
        }
    }

    /// The same failure, which names the first of the things that were not done because of it.
    pub(super) fn about_rest(self, first: &str) -> Self {
        let rest = |message| format!("{} and all after it: {message}", harmless(first));
        match self {
            Self::Refused(message) => Self::Refused(rest(message)),
            Self::Unavailable(message) => Self::Unavailable(rest(message)),
            other => other,
        }
    }

    /// Whether everything else would fail in the same way.
    pub(super) fn is_of_all(&self) -> bool {
        match self {
            Self::OutputClosed | Self::Usage(_) | Self::Refused(_) | Self::Unavailable(_) => true,
            Self::Failed(_) | Self::NotFound(_) => false,
            Self::Reported(first) => first.is_of_all(),
        }
    }

    /// Writes one line to standard error.
    pub(super) fn report(&self, form: ErrorForm) {
        if matches!(self, Self::OutputClosed | Self::Reported(_)) {
            return;
        }
        let message = &self.to_string();
        let line = match form {
            ErrorForm::Text => format!("shunt: {message}"),
            ErrorForm::Json => json!({ "error": message, "exit_code": self.code() }).to_string(),
            ErrorForm::Log => json_line(message, json!({ "exit_code": self.code() })),
        };
        // Without a standard error the exit code is all there is.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// The code the process ends with.
    pub(super) fn exit_code(&self) -> ExitCode {
        self.code().into()
    }

    fn code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Reported(first) => first.code(),
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::NotFound(_) => 4,
            Self::Unavailable(_) => 5,
        }
    }
}

impl Display for Failure {
    /// The sentence for people.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutputClosed => formatter.write_str("the output is closed"),
            Self::Failed(message)
            | Self::Usage(message)
            | Self::Refused(message)
            | Self::NotFound(message)
            | Self::Unavailable(message) => formatter.write_str(message),
            Self::Reported(first) => first.fmt(formatter),
        }
    }
}

/// For errors of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Failed(format!(
                "the output cannot be written: {}",
                io_reason(&error)
            )),
        }
    }
}
