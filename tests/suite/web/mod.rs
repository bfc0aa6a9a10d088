//! Pages for people, over plain HTTP: a browser without JavaScript.

mod browser;
mod clicks;
mod owners;
mod visitors;
