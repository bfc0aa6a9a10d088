//! Where events may be sent.

use clap::Args;

use super::setting::setting;
use crate::domain::HookTargets;

/// Where events may be sent.
#[derive(Args, Clone, Copy, Debug)]
pub struct HookSettings {
    /// Where receivers of hooks may be: `public` (by https, at public addresses) or `private` (anywhere, also by http).
    ///
    /// The addresses of a receiver's name are checked at every connection. With `private`, everybody who has an account can send requests
    /// into your network.
    #[arg(long, env = "HOOK_TARGETS", value_name = "WHERE")]
    #[arg(default_value = "public", value_parser = setting(hook_targets))]
    pub hook_targets: HookTargets,
}

fn hook_targets(raw: &str) -> Result<HookTargets, String> {
    let invalid = || format!("must be {}, not `{raw}`", HookTargets::NAMES);
    HookTargets::parse(raw).ok_or_else(invalid)
}
