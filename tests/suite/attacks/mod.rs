//! What somebody tries who means harm: each attack beside what it must come to.

mod fields;
mod heads;
mod logs;
mod oversize;
mod paths;
mod targets;
mod tokens;
mod wire;
