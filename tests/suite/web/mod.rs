//! Pages for people, over plain HTTP: a browser without JavaScript.

mod accidents;
pub(crate) mod admin;
mod administration;
mod breakdowns;
pub(crate) mod browser;
mod clicks;
mod domains;
mod forms;
mod hooks;
mod import;
mod languages;
mod list;
mod meanwhile;
mod new_link;
mod owners;
mod removed;
mod reports;
mod rules;
mod sharing;
mod tags;
mod visitors;
