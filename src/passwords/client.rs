//! The client of a request: its address, and whether it still waits for the response.

use tokio_util::sync::CancellationToken;

/// The client of a request.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
    left: CancellationToken,
}

impl Client {
    /// A client at this address that waits.
    #[must_use]
    pub fn new(address: String) -> Self {
        Self::until(address, CancellationToken::new())
    }

    /// A client at this address that waits until `left` is cancelled.
    #[must_use]
    pub fn until(address: String, left: CancellationToken) -> Self {
        Self { address, left }
    }

    /// The address that is limited.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns once no request waits for the answer.
    pub async fn left(&self) {
        self.left.cancelled().await;
    }
}
