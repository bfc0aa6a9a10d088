//! Mail of the running service: the queues, and the tasks that empty them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinSet;

use crate::config::Config;
use crate::mail::{AccountMail, InvitationMail, mailer};
use crate::server::app::App;
use crate::server::error::ServeError;
use crate::server::shutdown::Shutdown;
use crate::web::{Site, WebState, invitation_mail, report_letter, write_letters};

/// How long a stop waits for mails at most; of a shorter stop, a quarter.
const LAST: Duration = Duration::from_secs(5);

/// What sends mail; without a mail server nothing does.
#[derive(Clone, Default)]
pub(super) struct Post {
    pub(super) account_mail: AccountMail,
    pub(super) invitation_mail: InvitationMail,
}

impl Post {
    /// Starts to send mail, if the settings name a server.
    pub(super) fn start(
        tasks: &mut JoinSet<()>,
        app: &App,
        config: &Config,
        site: &Site,
        shutdown: &Shutdown,
    ) -> Result<Self, ServeError> {
        let (Some(server), Some(from)) = (&config.mail.smtp, &config.mail.mail_from) else {
            return Ok(Self {
                account_mail: AccountMail::without_server(config.site.site_contact.as_deref()),
                ..Self::default()
            });
        };
        let (mailer, deliveries) = mailer(server, from.clone())?;
        let last = LAST.min(config.shutdown_timeout / 4);
        let delivering = deliveries.run(shutdown.draining_token(), last);
        tasks.spawn(delivering.boxed());
        let accounts = Arc::clone(&app.accounts);
        let (account_mail, queue) = AccountMail::new();
        let writing = write_letters(accounts, site.clone(), mailer.clone(), queue);
        let draining = shutdown.draining_token();
        let writing = async move {
            draining.run_until_cancelled(writing).await;
        };
        tasks.spawn(writing.boxed());
        if let Some(letter) = report_letter(site.clone(), mailer.clone()) {
            // No other part of a start sets it.
            let _ = app.links.report_letter.set(letter);
        }
        Ok(Self {
            account_mail,
            invitation_mail: invitation_mail(site.clone(), mailer),
        })
    }

    /// The state of the pages, which send mail.
    pub(super) fn beside(self, state: WebState) -> WebState {
        WebState {
            account_mail: self.account_mail,
            invitation_mail: self.invitation_mail,
            ..state
        }
    }
}
