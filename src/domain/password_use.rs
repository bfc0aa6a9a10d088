//! What passwords of accounts are for.

/// Where passwords of accounts log in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PasswordUse {
    /// On the pages and in the API.
    #[default]
    Everywhere,
    /// In the API only: people sign in to the pages by the identity provider.
    Api,
    /// Nowhere: programs have API keys.
    Nowhere,
}
