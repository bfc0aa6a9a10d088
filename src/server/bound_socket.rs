//! Addresses to listen on: bound early, so that a taken address ends the start before it changes the database.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

/// Connections that the system accepts before the service takes them, as far as the system allows.
const BACKLOG: i32 = 4_096;

/// The system's memory for what a connection has sent and its client has not taken: a client that reads nothing would otherwise
/// keep megabytes of it. (Linux doubles it, for its own bookkeeping.) Over a distance of 100 ms it is still 10 Mbit/s and more.
const SEND_BUFFER: usize = 128 * 1024;

/// How much of that the system takes before it is on its way: so a client's progress is seen in small steps.
pub(super) const UNSENT: usize = 32 * 1024;

/// An address that is bound and not listened on yet: clients can connect only once there is a service that answers.
pub(super) struct BoundSocket {
    setting: &'static str,
    address: SocketAddr,
    socket: Socket,
}

/// An address of the settings cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: cannot listen on {address}: {error}; {advice}")]
pub struct BindError {
    setting: &'static str,
    address: SocketAddr,
    error: io::Error,
    advice: &'static str,
}

impl BoundSocket {
    /// Binds the address of a setting. Fails if another process already listens there.
    pub(super) fn bind(setting: &'static str, address: SocketAddr) -> Result<Self, BindError> {
        // As the standard library does it.
        let bound =
            Socket::new(Domain::for_address(address), Type::STREAM, None).and_then(|socket| {
                socket.set_reuse_address(true)?;
                socket.bind(&address.into())?;
                Ok(socket)
            });
        let socket = bound.map_err(|error| BindError::new(setting, address, error))?;
        Ok(Self {
            setting,
            address,
            socket,
        })
    }

    /// Listens. Has to be called on the runtime that will accept the connections.
    pub(super) fn listen(self) -> Result<TcpListener, BindError> {
        let Self {
            setting,
            address,
            socket,
        } = self;
        // The queue of the standard library is 128 connections long, which a burst fills.
        bound_send_buffer(&socket)
            .and_then(|()| socket.listen(BACKLOG))
            .and_then(|()| socket.set_nonblocking(true))
            .and_then(|()| TcpListener::from_std(socket.into()))
            .map_err(|error| BindError::new(setting, address, error))
    }
}

/// The connections of a listener have the bounds of the listener itself.
fn bound_send_buffer(socket: &Socket) -> io::Result<()> {
    socket.set_send_buffer_size(SEND_BUFFER)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(u32::try_from(UNSENT).map_err(io::Error::other)?)?;
    Ok(())
}

impl BindError {
    fn new(setting: &'static str, address: SocketAddr, error: io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => "stop what listens there, or give another port",
            io::ErrorKind::AddrNotAvailable => "give an address of this machine",
            io::ErrorKind::PermissionDenied => {
                "give a port above 1023, or the right to use this one"
            }
            _ => "give another address",
        };
        Self {
            setting,
            address,
            error,
            advice,
        }
    }
}
