//! The values the service speaks of, parsed once at the edge into types that cannot be wrong.
//!
//! Nothing here does input or output: every type is a checked value, its parser and the sentence a
//! person is shown when the parser refuses.

mod code;
mod email;
mod limits;
mod link;
mod password;
mod shard;
mod target;
mod time;
mod token_secret;
mod user;

pub use code::ShortCode;
pub use email::{EmailAddress, InvalidEmail};
pub use limits::PerMinute;
pub use link::{Link, LinkId, LinkTarget};
pub use password::{InvalidPassword, Password};
pub use shard::{Click, Shard};
pub use target::{InvalidTarget, Location, OwnHost, TargetUrl};
pub use time::{Clock, InvalidTimestamp, ManualClock, SystemClock, Timestamp};
pub use token_secret::{SecretTooShort, TokenSecret};
pub use user::{User, UserId};
