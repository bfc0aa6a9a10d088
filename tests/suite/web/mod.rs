//! Pages for people, over plain HTTP: a browser without JavaScript.

mod breakdowns;
mod browser;
mod clicks;
mod import;
mod owners;
mod visitors;
