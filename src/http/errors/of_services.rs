//! Each error of a service as a response.

use axum::http::StatusCode;

use super::{ApiError, RETRY_AFTER_FAILURE};
use crate::abuse::AbuseError;
use crate::accounts::{AccountError, HashError, MAX_KEYS, MAX_PASSKEYS, SignInError, TokenFault};
use crate::clicks::counts::CountError;
use crate::domain::{MAX_HOOKS, PoolTargets};
use crate::events::{FeedError, HookError};
use crate::limits::{Full, TooMany};
use crate::links::LinkError;
use crate::oidc::ProviderFault;
use crate::qr::QrError;
use crate::redirect::RedirectError;
use crate::statements::StatementError;
use crate::store::{FeedEnd, GroupError, StoreError};

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) | StoreError::Unreachable(why) => Self::unavailable(&why),
            StoreError::Busy => Self::overloaded(),
            StoreError::Full => Self::storage_full(),
            StoreError::Unexpected(why) => Self::internal(&why),
        }
    }
}

impl From<CountError> for ApiError {
    fn from(error: CountError) -> Self {
        match error {
            CountError::Unavailable(why) => Self::unavailable(&why),
            CountError::Store(error) => error.into(),
        }
    }
}

impl From<TooMany> for ApiError {
    fn from(too_many: TooMany) -> Self {
        Self::too_many(too_many.retry_after)
    }
}

impl From<Full> for ApiError {
    fn from(full: Full) -> Self {
        match full {
            Full::InAll => Self::overloaded(),
            Full::OfClient(too_many) => too_many.into(),
        }
    }
}

impl From<FeedError> for ApiError {
    fn from(error: FeedError) -> Self {
        let why = match error {
            FeedError::Full(full) => return full.into(),
            FeedError::Store(error) => return error.into(),
            FeedError::End(FeedEnd::WentBack) => {
                "The database went back to a state before this event; begin again without `after`"
            }
            FeedError::End(FeedEnd::Pruned) => {
                "Events after this one are not kept any more; begin again without `after`"
            }
        };
        Self::new(StatusCode::GONE, why)
    }
}

impl From<HookError> for ApiError {
    fn from(error: HookError) -> Self {
        match error {
            HookError::Gone => AccountError::Gone.into(),
            HookError::TooMany => Self::new(
                StatusCode::FORBIDDEN,
                format!(
                    "This account has the maximum of {MAX_HOOKS} hooks; delete a hook to make room"
                ),
            ),
            HookError::NoSecret(error) => Self::internal(&error.to_string()),
            HookError::Feed(error) => error.into(),
            HookError::Store(error) => error.into(),
        }
    }
}

impl From<LinkError> for ApiError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::OwnerGone => AccountError::Gone.into(),
            LinkError::TooMany(too_many) => too_many.into(),
            LinkError::Full(full) => full.into(),
            LinkError::QuotaReached(max) => Self::quota_reached(max),
            LinkError::CodeTaken => Self::conflict("custom_code: is taken"),
            LinkError::AliasTaken(code) => Self::conflict(&format!("aliases: {code} is taken")),
            LinkError::AliasTooShort(least) => Self::invalid(format!(
                "aliases: must each be at least {least} characters long"
            )),
            LinkError::TargetRefused(field) => {
                let why = "must not lead to a target that this service refuses";
                Self::invalid(format!("{field}: {why}"))
            }
            LinkError::PoolTargetRefused(line) => Self::invalid(format!(
                "line {line}: must not lead to a target that this service refuses"
            )),
            LinkError::PoolFull(room) => Self::invalid(format!(
                "body: the pool has room for {room} more targets; a pool has at most {} in all, including the targets that were given",
                PoolTargets::MAX
            )),
            LinkError::CodeTooShort(least) => Self::invalid(format!(
                "custom_code: must be at least {least} characters long"
            )),
            LinkError::DomainRefused => Self::invalid(format!("domain: {error}")),
            LinkError::EndsInPast => Self::invalid("expires_at: must be in the future"),
            LinkError::KeyReused => Self::invalid(
                "Idempotency-Key: was used for another request; send a new one with each new request",
            ),
            LinkError::NotAsExpected => Self::precondition_failed(),
            LinkError::Removed => Self::conflict("URL removed"),
            LinkError::TagLeft(_) => {
                let rest = "and others still have the tag; send the same request again";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{error}, {rest}"))
                    .retry_after(RETRY_AFTER_FAILURE)
            }
            LinkError::Invalid(why) => Self::invalid(why.to_string()),
            LinkError::Hash(HashError::Busy) => Self::overloaded(),
            LinkError::ManyPasswords => Self::invalid(format!("password: {error}")),
            LinkError::Count(error) => error.into(),
            LinkError::Store(error) => error.into(),
            LinkError::Hash(HashError::Failed(_)) | LinkError::NoCode(_) => {
                Self::internal(&error.to_string())
            }
        }
    }
}

impl From<StatementError> for ApiError {
    fn from(error: StatementError) -> Self {
        match error {
            StatementError::NotEnded(_) | StatementError::ManyZones(_) => {
                Self::conflict(&error.to_string())
            }
            StatementError::BeforeLink(_) => Self::invalid(error.to_string()),
            StatementError::NoKey => Self::new(StatusCode::NOT_IMPLEMENTED, error.to_string()),
            StatementError::MonthsLeft(_) => {
                let rest = "and later ones are not; send the same request again";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{error}, {rest}"))
                    .retry_after(RETRY_AFTER_FAILURE)
            }
            StatementError::TooMany(too_many) => too_many.into(),
            StatementError::Count(error) => error.into(),
            StatementError::Store(error) => error.into(),
            StatementError::NotCanonical(_) => Self::internal(&error.to_string()),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::NotAdmitted(refused) => {
                Self::new(StatusCode::FORBIDDEN, refused.to_string())
            }
            AccountError::NoPasswords => Self::no_passwords(),
            AccountError::EmailTaken => Self::bad_request("Email already registered"),
            AccountError::OwnEmail => Self::invalid("email: is the address of your account"),
            AccountError::WrongCredentials => Self::wrong_credentials(),
            AccountError::OtpNeeded => Self::otp_needed(),
            AccountError::WrongOtp => Self::wrong_otp(),
            AccountError::FactorMissing => Self::factor_missing(),
            AccountError::NoPasskeys => Self::not_found(),
            AccountError::PasskeyRefused => Self::passkey_refused(),
            AccountError::PasskeyNeeded => Self::passkey_needed(),
            AccountError::TooManyPasskeys => Self::too_many_passkeys(MAX_PASSKEYS),
            AccountError::Weak(why) => Self::invalid(format!("password: {why}")),
            AccountError::Refused(fault) => fault.into(),
            AccountError::NotPermitted(scope) => Self::not_permitted(scope),
            AccountError::EndsInPast => Self::invalid("expires_at: must be in the future"),
            AccountError::TooManyKeys => Self::too_many_keys(MAX_KEYS),
            AccountError::Group(error) => error.into(),
            AccountError::KeyForGroup => Self::key_for_group(),
            AccountError::OnlyOwner(group) => Self::only_owner(group.as_str()),
            AccountError::GroupFull(max) => Self::quota_reached(max),
            AccountError::LinksLeft(_) => {
                let rest = "and the account has others; send the same request again";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{error}, {rest}"))
                    .retry_after(RETRY_AFTER_FAILURE)
            }
            AccountError::WrongPassword => Self::wrong_password(),
            AccountError::Gone => Self::invalid_token(&error),
            AccountError::TooMany(too_many) => too_many.into(),
            AccountError::Hash(HashError::Busy) => Self::overloaded(),
            AccountError::Hash(HashError::Failed(_))
            | AccountError::NoKey(_)
            | AccountError::Token(_) => Self::internal(&error.to_string()),
            AccountError::Store(error) => error.into(),
        }
    }
}

impl From<GroupError> for ApiError {
    fn from(error: GroupError) -> Self {
        match error {
            GroupError::Gone => AccountError::Gone.into(),
            GroupError::NoGroup => Self::group_not_found(),
            GroupError::RoleTooSmall(role, needed) => Self::role_too_small(role, needed),
            GroupError::NoMember => Self::member_not_found(),
            GroupError::LastOwner => Self::last_owner(),
            GroupError::TooMany => Self::too_many_members(),
            GroupError::Store(error) => error.into(),
        }
    }
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        let status = match error {
            SignInError::Account(error) => return error.into(),
            SignInError::NotOffered => return Self::not_found(),
            SignInError::Provider(ProviderFault::Unreachable(..) | ProviderFault::Busy) => {
                return Self::not_now();
            }
            SignInError::Provider(_) => StatusCode::BAD_GATEWAY,
            SignInError::Expired => StatusCode::BAD_REQUEST,
            SignInError::Denied(_)
            | SignInError::NoEmail
            | SignInError::UnverifiedEmail
            | SignInError::OfAnother
            | SignInError::Banned(_) => StatusCode::FORBIDDEN,
        };
        Self::new(status, error.to_string())
    }
}

impl From<AbuseError> for ApiError {
    fn from(error: AbuseError) -> Self {
        match error {
            AbuseError::Gone => AccountError::Gone.into(),
            AbuseError::NoAdmin => Self::no_admin(),
            AbuseError::FactorMissing => Self::factor_missing(),
            AbuseError::Invalid(why) => Self::invalid(why.to_string()),
            AbuseError::Domain(why) => Self::invalid(why.to_string()),
            AbuseError::NoFactor => Self::conflict(&error.to_string()),
            AbuseError::Unknown => Self::new(StatusCode::NOT_FOUND, format!("value: {error}")),
            AbuseError::OwnAccount | AbuseError::Banned => Self::invalid(format!("value: {error}")),
            AbuseError::LastAdministrator => Self::conflict(&format!("the account {error}")),
            AbuseError::Already(id) => {
                let detail = format!("value: was already removed, by removal {}", id.0);
                Self::conflict(&detail)
            }
            AbuseError::NoDomain => Self::not_found(),
            AbuseError::DomainExists | AbuseError::DomainHasLinks | AbuseError::ManyDomains => {
                Self::conflict(&format!("host: {error}"))
            }
            AbuseError::Invitation(why) => Self::invalid(why.to_string()),
            AbuseError::HasAccount | AbuseError::ManyInvitations => {
                Self::conflict(&format!("email: {error}"))
            }
            AbuseError::NoRandomness(why) => Self::internal(&why),
            AbuseError::TooMany(too_many) => too_many.into(),
            AbuseError::Store(error) => error.into(),
        }
    }
}

impl From<TokenFault> for ApiError {
    fn from(fault: TokenFault) -> Self {
        Self::invalid_token(&fault)
    }
}

impl From<QrError> for ApiError {
    fn from(error: QrError) -> Self {
        match error {
            QrError::Png(_) => Self::internal(&error.to_string()),
            QrError::TooLong
            | QrError::TooSmall { .. }
            | QrError::LowContrast
            | QrError::LogoWithoutPixels => Self::invalid(error.to_string()),
        }
    }
}

impl From<RedirectError> for ApiError {
    fn from(error: RedirectError) -> Self {
        match error {
            RedirectError::TooMany(too_many) => too_many.into(),
            RedirectError::Removed(status) => Self::url_removed(status),
            RedirectError::QueryTooLong(_) => Self::query_too_long(),
            RedirectError::Locked => Self::link_locked(),
            RedirectError::WrongPassword => Self::wrong_link_password(),
            error if error.is_not_found() => Self::url_not_found(),
            // Logged with the look-up: clients may be very many.
            _ => Self::not_now(),
        }
    }
}
