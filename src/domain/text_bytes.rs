//! How many bytes the texts of a link take: most of what the database keeps of it.

use super::{
    Aliases, FieldEdit, LinkEdit, LinkProperties, PrivateNote, Rules, TagEdit, Tags, TargetUrl,
    Title,
};

/// Bytes of a hash of a password that is made here.
const OWN_HASH_BYTES: u64 = 97;

impl LinkProperties {
    /// Bytes of its texts.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let targets = [Some(&self.target), self.fallback.as_ref()];
        let (title, note) = (self.title.as_ref(), self.note.as_ref());
        let hash = self
            .password
            .as_ref()
            .map_or(0, |hash| hash.expose().len() as u64);
        sum(targets, title, Some(&self.tags), note, Some(&self.aliases))
            + hash
            + of_rules(self.rules.as_ref())
    }
}

impl LinkEdit {
    /// Bytes of the texts that it writes: a link grows by no more.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let targets = [self.target.as_ref(), self.fallback.as_given()];
        let (title, note) = (self.title.as_given(), self.note.as_given());
        let tags = match &self.tags {
            Some(TagEdit::Set(tags) | TagEdit::Add(tags)) => Some(tags),
            Some(TagEdit::Remove(_)) | None => None,
        };
        let hash = match (&self.password, &self.new_password) {
            (FieldEdit::Set(hash), _) => hash.expose().len() as u64,
            (_, Some(_)) => OWN_HASH_BYTES,
            _ => 0,
        };
        sum(targets, title, tags, note, self.aliases.as_ref())
            + hash
            + of_rules(self.rules.as_given())
    }
}

fn of_rules(rules: Option<&Rules>) -> u64 {
    rules.map_or(0, |rules| rules.as_json().len()) as u64
}

/// What an alias takes in the database beside its code: a row of its own.
const ALIAS_BYTES: usize = 128;

fn sum(
    targets: [Option<&TargetUrl>; 2],
    title: Option<&Title>,
    tags: Option<&Tags>,
    note: Option<&PrivateNote>,
    aliases: Option<&Aliases>,
) -> u64 {
    let targets = targets.into_iter().flatten();
    let targets: usize = targets.map(|target| target.as_str().len()).sum();
    let title = title.map_or(0, |title| title.as_str().len());
    let tags = tags.iter().flat_map(|tags| tags.as_slice());
    let tags: usize = tags.map(|tag| tag.len() + 1).sum();
    let note = note.map_or(0, |note| note.as_str().len());
    let aliases = aliases.iter().flat_map(|aliases| aliases.as_slice());
    let aliases: usize = aliases.map(|code| ALIAS_BYTES + code.as_str().len()).sum();
    (targets + title + tags + note + aliases) as u64
}
