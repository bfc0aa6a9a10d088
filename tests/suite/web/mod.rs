//! Pages for people, over plain HTTP: a browser without JavaScript.

mod browser;
mod owners;
mod visitors;
