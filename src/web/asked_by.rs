//! Who asked for a page, once it is known: for a page of an error in its place.

use std::sync::{Arc, OnceLock};

use super::acting::Acting;
use super::language::Language;
use super::page::Owner;

/// What the frame of a page shows of the account that asked, once it is known.
#[derive(Clone, Default)]
pub(super) struct AskedBy(Arc<OnceLock<Known>>);

struct Known {
    csrf: String,
    own_csrf: String,
    acting: Acting,
    language: Language,
    is_admin: bool,
}

impl AskedBy {
    pub(super) fn owner(&self) -> Option<Owner<'_>> {
        self.0.get().map(|known| Owner {
            csrf: &known.csrf,
            own_csrf: &known.own_csrf,
            acting: &known.acting,
            language: known.language,
            is_admin: known.is_admin,
        })
    }

    pub(super) fn set(&self, owner: Owner<'_>) {
        self.0.get_or_init(|| Known {
            csrf: owner.csrf.to_owned(),
            own_csrf: owner.own_csrf.to_owned(),
            acting: owner.acting.clone(),
            language: owner.language,
            is_admin: owner.is_admin,
        });
    }
}
