//! The service's values: parsed once at the edge, and valid from then on.
//!
//! Nothing here does input or output. Each file has a type, its parser, and the sentence that a client reads when the
//! parser refuses.

mod administered;
pub mod agent_words;
mod aliases;
mod api_key;
mod audit;
mod blocklist;
mod campaign;
mod canonical_json;
mod click_class;
mod code;
mod domain_fields;
mod domains;
mod email;
mod email_change;
mod embedded_address;
mod event;
mod field_edit;
mod group;
mod group_name;
mod hook;
mod host;
mod hosts;
mod interval;
mod invalid_domain;
mod invitation;
mod issuer;
pub mod leb128;
mod limits;
mod link;
mod link_password;
mod link_properties;
mod link_state;
mod link_values;
mod location;
mod month;
mod named_user;
mod one_time_password;
mod one_time_token;
mod password;
mod password_use;
mod pool;
pub mod public_suffix;
mod reason;
mod registration;
mod removal;
pub mod rules;
mod search;
mod search_text;
mod series_range;
mod shard;
mod statement_key;
mod stats_audience;
mod target;
mod target_network;
mod text_bytes;
mod time;
mod token_secret;
mod totp;
mod two_factors;
mod unknown_name;
mod user;
mod zone;

pub use administered::{
    AccountNumbers, LinkReport, ReportState, ReportedLink, ReportsWanted, ServiceTotals,
};
pub use aliases::{Aliases, ChangedCode, InvalidAliases};
pub use api_key::{ApiKey, InvalidKeyName, KeyName, Scope};
pub use audit::{AuditEntry, Newest, NewestWanted, Report, SeenLink, SeenUser};
pub use blocklist::{Blocklist, CurrentBlocklist, InvalidBlocklist, InvalidEntry};
pub use campaign::{Campaign, InvalidCampaign};
pub use canonical_json::{MAX_EXACT, NotCanonical, canonical_json};
pub use click_class::{ClickClass, Dimension, Filter};
pub use code::{CustomCode, DomainId, InvalidCustomCode, ShortCode, code_length};
pub use domain_fields::{DomainFields, NamedOwners};
pub use domains::{Domain, DomainEdit, DomainOwners, ListedDomain, MAX_DOMAINS, WellKnownFile};
pub use email::{EmailAddress, InvalidEmail};
pub use email_change::EmailChange;
pub use embedded_address::canonical_address;
pub use event::{EventCursor, EventPlace, EventType, InvalidCursor};
pub use field_edit::FieldEdit;
pub use group::{
    Group, GroupRole, MAX_JOINED_GROUPS, MAX_MEMBERS, MAX_OWNED_GROUPS, Member, NamedMember,
    NewOwner, group_address, group_of_address,
};
pub use group_name::{GroupName, InvalidGroup};
pub use hook::{HookFilter, HookSecret, HookTargets, HookUrl, InvalidHookUrl, MAX_HOOKS};
pub use host::{HostPattern, InvalidHostPattern};
pub use hosts::{CurrentHosts, DomainHost, Hosts, HostsView, ServedHost};
pub use interval::Interval;
pub use invalid_domain::InvalidDomain;
pub use invitation::{InvalidInvitation, Invitation, InvitedRole, InvitedTo, MAX_INVITATIONS};
pub use issuer::{ClientSecret, Issuer};
pub use limits::Limits;
pub use link::{Alias, Link, LinkId, LinkRequest, LinkStatus, LinkTarget, RedirectOptions};
pub use link_password::{LinkPassword, PasswordHash, PasswordMark};
#[cfg(test)]
pub(crate) use link_properties::any_properties;
pub use link_properties::{LinkEdit, LinkProperties, TagEdit};
pub use link_state::{Foreseen, LinkState, LinkTime, NotFollowed};
pub use link_values::{
    InvalidNumber, InvalidProperty, MaxClicks, PrivateNote, StartingClicks, Tags, Title,
    WholeNumber,
};
pub use location::{Location, LocationTooLong};
pub use month::{InvalidMonth, Month};
pub use named_user::NamedUser;
pub use one_time_password::{OneTimePassword, RecoveryCode};
pub use one_time_token::OneTimeToken;
pub use password::{InvalidPassword, Password, prepared_password};
pub use password_use::PasswordUse;
pub use pool::{InvalidPool, PoolId, PoolTargets};
pub use reason::{io_reason, json_reason};
pub use registration::{Registration, RegistrationRefused};
pub use removal::{
    AddressRange, InvalidRemoval, Reason, Removal, RemovalId, RemovalStatus, RemovalTarget,
};
pub use rules::Rules;
pub use search::{InvalidSearch, LinkFilter, LinkGroup, LinkOrder, SearchTag, StatusFilter};
pub use search_text::{CODE_MARK, InvalidSearchText, SearchText, TextFinder};
pub use series_range::{InvalidRange, RangeQuery, SeriesRange, Tally};
pub use shard::{Click, Shard};
pub use statement_key::{StatementKey, StatementPublicKey, sha256_of};
pub use stats_audience::StatsAudience;
pub use target::{InvalidTarget, OwnHost, TargetUrl};
pub use time::{Clock, InvalidTimestamp, ManualClock, SystemClock, Timestamp};
pub use token_secret::{TokenSecret, WeakSecret};
pub use totp::{TotpCode, TotpSecret};
pub use two_factors::TwoFactorRule;
pub use unknown_name::unknown_name;
pub use user::{Principal, TokenKey, User, UserId};
pub use zone::{Step, Zone};
