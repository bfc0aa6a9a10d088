//! Hooks: events are sent to receivers, in order for each link, until each receiver has them.

mod reading;
mod round;
mod sender;
mod service;
mod worker;

pub use service::{ChangedHook, HookError, Hooks};
pub use worker::HookWorker;
