//! `shunt import`.

mod broken_off;
mod formats;
mod gate;
mod hostile_files;
mod links;
mod nothing_lost;
mod support;
