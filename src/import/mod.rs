//! Links in files: tables and JSON of this service and of others, read by the API, the pages and the command line alike.
//!
//! | files | task |
//! | --- | --- |
//! | `encoding` | which characters the bytes of a file stand for |
//! | `file`, `table`, `quotes`, `json`, `pages`, `meter` | read a file entry by entry, in bounded memory |
//! | `record`, `reading`, `link`, `note` | turn an entry into a link |
//! | `guess` | which service wrote a file, and which fields its columns are |
//! | `place`, `placing` | the host at which a link is there, and here |
//! | `source`, `format`, `elsewhere`, and one file for each format | the names and values of each service |
//! | `spreadsheet` | cells that no spreadsheet takes for a formula |

mod bitly;
mod chhoto;
mod dub;
mod elsewhere;
mod encoding;
mod entry;
mod file;
mod firebase;
mod format;
mod guess;
mod json;
mod kutt;
mod link;
mod meter;
mod note;
mod own;
mod pages;
mod place;
mod placing;
mod polr;
mod quotes;
mod reading;
mod rebrandly;
mod record;
mod shlink;
mod shlink_rules;
mod shortio;
mod sink;
mod source;
mod spreadsheet;
mod table;
#[cfg(test)]
mod tests;
mod tinyurl;
mod yourls;

pub use encoding::Encoding;
pub use entry::Unreadable;
pub use file::{read_file, read_matched};
pub use format::{Format, Matched};
pub use guess::{columns_in, field_of};
pub use link::ImportedLink;
pub use note::Note;
pub use own::columns;
pub use pages::OtherPages;
pub use placing::Placing;
pub use reading::{ReadLink, TakesLinks};
pub use shlink_rules::rules as rules_of_shlink;
pub use source::Source;
pub use spreadsheet::{guarded, guarded_bytes, unguarded};
pub use table::Table;
