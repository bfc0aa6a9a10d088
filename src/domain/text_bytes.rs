//! How many bytes the texts of a link take: most of what the database keeps of it.

use super::{LinkEdit, LinkProperties, TagEdit, Tags, TargetUrl, Title};

impl LinkProperties {
    /// Bytes of its texts.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let targets = [Some(&self.target), self.fallback.as_ref()];
        sum(targets, self.title.as_ref(), Some(&self.tags))
    }
}

impl LinkEdit {
    /// Bytes of the texts that it writes: a link grows by no more.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        let tags = match &self.tags {
            Some(TagEdit::Set(tags) | TagEdit::Add(tags)) => Some(tags),
            Some(TagEdit::Remove(_)) | None => None,
        };
        let targets = [self.target.as_ref(), self.fallback.as_given()];
        sum(targets, self.title.as_given(), tags)
    }
}

fn sum(targets: [Option<&TargetUrl>; 2], title: Option<&Title>, tags: Option<&Tags>) -> u64 {
    let targets = targets.into_iter().flatten();
    let targets: usize = targets.map(|target| target.as_str().len()).sum();
    let title = title.map_or(0, |title| title.as_str().len());
    let tags = tags.iter().flat_map(|tags| tags.as_slice());
    let tags: usize = tags.map(|tag| tag.len() + 1).sum();
    (targets + title + tags) as u64
}
