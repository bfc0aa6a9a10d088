//! Settings of the identity provider, and what passwords are for beside it.

use super::{check, fault_of};

#[test]
fn settings_of_the_identity_provider_agree_with_each_other() {
    let issuer = "--oidc-issuer=https://login.example.org";
    assert!(check(&[issuer, "--oidc-client-id=shunt"]).is_ok());
    for (flags, fault) in [
        (&[issuer][..], "OIDC_CLIENT_ID: is needed with OIDC_ISSUER"),
        (
            &["--oidc-client-id=shunt"],
            "OIDC_CLIENT_ID: needs OIDC_ISSUER",
        ),
        (
            &["--oidc-client-secret=x"],
            "OIDC_CLIENT_SECRET: needs OIDC_ISSUER",
        ),
        (
            &["--oidc-admin-group=x"],
            "OIDC_ADMIN_GROUP: needs OIDC_ISSUER",
        ),
        (&["--oidc-only"], "OIDC_ONLY: needs OIDC_ISSUER"),
        (
            &["--password-login=off"],
            "PASSWORD_LOGIN: needs OIDC_ISSUER",
        ),
        (
            &["--password-login=no"],
            "PASSWORD_LOGIN: must be on or off",
        ),
        (
            &["--require-two-factors=admins"],
            "REQUIRE_TWO_FACTORS: must be none, administrators or all",
        ),
        (
            &["--oidc-issuer=login.example.org"],
            "OIDC_ISSUER: `login.example.org` is not an address",
        ),
        (
            &["--oidc-scopes=openid,email"],
            "OIDC_SCOPES: must be scopes with spaces between",
        ),
    ] {
        let found = fault_of(flags);
        assert!(found.starts_with(fault), "{flags:?}: {found}");
    }
}

#[test]
fn what_passwords_are_for_follows_from_two_settings() {
    use crate::domain::PasswordUse::{Api, Everywhere, Nowhere};
    let provider = [
        "--oidc-issuer=https://login.example.org",
        "--oidc-client-id=shunt",
    ];
    for (more, passwords) in [
        (&[][..], Everywhere),
        (&["--oidc-only"], Api),
        (&["--password-login=off"], Nowhere),
        (&["--oidc-only", "--password-login=off"], Nowhere),
    ] {
        let flags = [&provider, more].concat();
        assert_eq!(
            check(&flags).unwrap().oidc.passwords(),
            passwords,
            "{more:?}"
        );
    }
}

#[test]
fn a_second_factor_is_required_of_nobody_of_administrators_or_of_all() {
    for (flags, of_administrators, of_others) in [
        (&[][..], false, false),
        (&["--require-two-factors=none"], false, false),
        (&["--require-two-factors=administrators"], true, false),
        (&["--require-two-factors=all"], true, true),
    ] {
        let rule = check(flags).unwrap().oidc.require_two_factors;
        assert_eq!(
            (rule.binds(true), rule.binds(false)),
            (of_administrators, of_others)
        );
    }
}
