//! The shares that a request holds: a permit while it is worked on, and memory for its body and its response.

use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::{Body, Bytes, to_bytes};
use axum::response::{IntoResponse, Response};

use super::ApiError;
use crate::domain::UserId;
use crate::limits::{AtOnce, ClientShare, Full};

/// Bodies and responses up to this length are taken and sent however much is kept for others: log-ins, errors, single links. The
/// connections bound them in all.
pub(super) const SMALL: usize = 16 * 1024;

/// What requests hold; cheap to clone.
#[derive(Clone)]
pub(super) struct Shares {
    pub(super) requests: AtOnce,
    /// Bodies that are still to come. They have no permit, so only the connections bound their number.
    pub(super) bodies: AtOnce,
    /// Bytes of bodies and of responses.
    pub(super) room: AtOnce,
}

/// A request of the API, from its head to its response.
pub struct Admitted {
    shares: Shares,
    /// `None`: addresses have no shares.
    address: Option<String>,
    needs_permit: bool,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    permit: Option<ClientShare>,
    account: Option<UserId>,
}

/// Gives the permit back when it is dropped.
pub(super) struct Ends<'a>(&'a Admitted);

/// In the extensions of a response: something is committed, and the client must learn of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HasCommitted;

/// A response in memory, and the room that it takes, until its last byte is written.
struct Kept {
    bytes: Bytes,
    _room: ClientShare,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Admitted {
    pub(super) fn new(shares: Shares, address: Option<String>, needs_permit: bool) -> Self {
        Self {
            shares,
            address,
            needs_permit,
            held: Mutex::default(),
        }
    }

    pub(super) fn needs_permit(&self) -> bool {
        self.needs_permit
    }

    /// Takes the permit, if the route needs one.
    pub(super) fn take_permit(&self) -> Result<(), Full> {
        if self.needs_permit {
            let mut permit = self.place_in(&self.shares.requests);
            // A client past its part is told the same as when everything is taken.
            permit.add(1).map_err(|_| Full::InAll)?;
            self.held().permit = Some(permit);
        }
        Ok(())
    }

    pub(super) fn ends(&self) -> Ends<'_> {
        Ends(self)
    }

    /// Notes whose request it is: from now on it counts for the account, too.
    ///
    /// # Errors
    /// 503 if the account has as many requests worked on as it may have.
    pub fn belongs_to(&self, account: UserId) -> Result<(), ApiError> {
        let mut held = self.held();
        held.account = Some(account);
        match &mut held.permit {
            Some(permit) => permit
                .belongs_to(account)
                .map_err(|_| ApiError::overloaded()),
            None => Ok(()),
        }
    }

    /// Waits for the body of the request. Meanwhile the request has no permit: a body that is announced and never comes takes
    /// nothing from others.
    pub(super) async fn while_body_comes<T>(
        &self,
        body: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let mut unfinished = self.place_in(&self.shares.bodies);
        unfinished.add(1)?;
        let permit = self.held().permit.take();
        drop(permit);
        let body = body.await?;
        drop(unfinished);
        self.take_permit()?;
        Ok(body)
    }

    /// Room in memory for what this client sends or is sent; it begins empty.
    #[must_use]
    pub fn room(&self) -> ClientShare {
        self.place_in(&self.shares.room)
    }

    pub(super) fn place_in(&self, shared: &AtOnce) -> ClientShare {
        shared.of(self.held().account, self.address.as_deref())
    }

    /// The response, which takes room until the client has read it; a refusal if no room is left. What is the same for all
    /// clients is in memory once.
    pub async fn keep(&self, response: Response) -> Response {
        let (parts, body) = response.into_parts();
        let bytes = match to_bytes(body, usize::MAX).await {
            Ok(bytes) => bytes,
            Err(error) => return ApiError::internal(&error.to_string()).into_response(),
        };
        if !bytes.is_unique() {
            return Response::from_parts(parts, bytes.into());
        }
        match self.kept(bytes, parts.extensions.get::<HasCommitted>().is_some()) {
            Ok(bytes) => Response::from_parts(parts, Body::from(bytes)),
            Err(full) => ApiError::from(full).into_response(),
        }
    }

    /// Bytes that take room until they are dropped.
    ///
    /// # Errors
    /// [`Full`], unless the bytes are few or must be sent.
    pub fn kept(&self, bytes: Bytes, has_to_be_sent: bool) -> Result<Bytes, Full> {
        let mut room = self.room();
        if has_to_be_sent || bytes.len() <= SMALL {
            room.add_anyway(bytes.len());
        } else {
            room.add(bytes.len())?;
        }
        Ok(Bytes::from_owner(Kept { bytes, _room: room }))
    }

    /// Bytes of a response that take room until they are dropped; `None` if there is no room now. Metrics count no refusal.
    #[must_use]
    pub fn try_keep(&self, bytes: Bytes) -> Option<Bytes> {
        if bytes.len() <= SMALL {
            return self.kept(bytes, false).ok();
        }
        let mut room = self.room();
        room.try_add(bytes.len()).ok()?;
        Some(Bytes::from_owner(Kept { bytes, _room: room }))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let permit = self.0.held().permit.take();
        drop(permit);
    }
}
