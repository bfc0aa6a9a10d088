//! Commands for several links: a link that fails does not stop the others.

use super::Failure;
use crate::cli::failure::ErrorForm;

/// The outcome of a command for several links.
pub(super) struct Several {
    is_one: bool,
    form: ErrorForm,
    /// The first failure of a link, and how many there were.
    failed: Option<(Failure, u64)>,
    /// The first fault of the output, if it had one.
    printed: Result<(), Failure>,
}

impl Several {
    /// Before the first link. A command for a single link fails with the failure of that link.
    pub(super) fn new(is_one: bool, json: bool) -> Self {
        let form = if json {
            ErrorForm::Json
        } else {
            ErrorForm::Text
        };
        Self {
            is_one,
            form,
            failed: None,
            printed: Ok(()),
        }
    }

    /// Notes the outcome of one link and of the line about it. A failure that all others would share, as of the login,
    /// ends the command; a closed output does not.
    pub(super) fn note(
        &mut self,
        about: &str,
        outcome: Result<Result<(), Failure>, Failure>,
    ) -> Result<(), Failure> {
        match outcome {
            Ok(printed) => {
                let before = std::mem::replace(&mut self.printed, Ok(()));
                self.printed = before.and(printed);
                Ok(())
            }
            Err(failure) if self.is_one => Err(failure),
            Err(failure) if failure.is_of_all() => Err(failure.about_rest(about)),
            Err(failure) => {
                let failure = failure.about(about);
                failure.report(self.form);
                let (first, count) = self.failed.take().unwrap_or((failure, 0));
                self.failed = Some((first, count + 1));
                Ok(())
            }
        }
    }

    /// After the last link.
    pub(super) fn end(self) -> Result<(), Failure> {
        match self.failed {
            Some((first, _)) => Err(Failure::Reported(Box::new(first))),
            None => self.printed,
        }
    }
}
