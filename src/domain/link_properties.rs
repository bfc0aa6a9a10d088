//! What an owner may set of a link, and change later.

use super::{
    Aliases, FieldEdit, InvalidProperty, LinkPassword, MaxClicks, PasswordHash, PrivateNote, Rules,
    Tags, TargetUrl, Timestamp, Title,
};

/// What an owner sets of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkProperties {
    /// Where the code leads, exactly as it was given.
    pub target: TargetUrl,
    /// An inactive link does not redirect.
    pub is_active: bool,
    /// The owner's name for the link.
    pub title: Option<Title>,
    /// Words that group the owner's links.
    pub tags: Tags,
    /// The moment from which the link no longer redirects.
    pub expires_at: Option<Timestamp>,
    /// Redirects that are answered in all.
    pub max_clicks: Option<MaxClicks>,
    /// Whether a visitor's query is added to that of the target.
    pub forward_query: bool,
    /// The moment from which the link redirects; it is before `expires_at`.
    pub starts_at: Option<Timestamp>,
    /// Where visitors are sent before the start, after the end, and once the clicks are used up.
    pub fallback: Option<TargetUrl>,
    /// The private note of its owner.
    pub note: Option<PrivateNote>,
    /// Whether search engines are asked not to list the link.
    pub noindex: bool,
    /// The hash of the password that visitors need.
    pub password: Option<PasswordHash>,
    /// Where some visitors are sent instead of to the target.
    pub rules: Option<Rules>,
    /// More codes of the link.
    pub aliases: Aliases,
}

impl LinkProperties {
    /// A link with a target and nothing else.
    #[must_use]
    pub fn of(target: TargetUrl) -> Self {
        Self {
            target,
            is_active: true,
            title: None,
            tags: Tags::default(),
            expires_at: None,
            max_clicks: None,
            forward_query: false,
            starts_at: None,
            fallback: None,
            note: None,
            noindex: false,
            password: None,
            rules: None,
            aliases: Aliases::default(),
        }
    }

    /// The same, if no two of them contradict each other.
    ///
    /// # Errors
    /// [`InvalidProperty::StartsAfterEnd`].
    pub fn checked(self) -> Result<Self, InvalidProperty> {
        let times = self.starts_at.zip(self.expires_at);
        if times.is_some_and(|(start, end)| start >= end) {
            return Err(InvalidProperty::StartsAfterEnd);
        }
        Ok(self)
    }

    /// All properties as bytes that are the same only for equal properties: no field contains a zero byte.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let Self {
            target,
            is_active,
            title,
            tags,
            expires_at,
            max_clicks,
            forward_query,
            starts_at,
            fallback,
            note,
            noindex,
            password,
            rules,
            aliases,
        } = self;
        let target = target.as_str();
        let title = title.as_ref().map_or("", Title::as_str);
        let end = expires_at.map(Timestamp::micros);
        let max = max_clicks.map(MaxClicks::number);
        let start = starts_at.map(Timestamp::micros);
        let fallback = fallback.as_ref().map_or("", TargetUrl::as_str);
        let note = note.as_ref().map_or("", PrivateNote::as_str);
        let hash = password.as_ref().map_or("", PasswordHash::expose);
        let rules = rules.as_ref().map_or("", Rules::as_json);
        let texts =
            format!("{target}\0{title}\0{tags}\0{fallback}\0{note}\0{hash}\0{rules}\0{aliases}");
        let flags = format!("{is_active}\0{forward_query}\0{noindex}");
        format!("{texts}\0{flags}\0{start:?}\0{end:?}\0{max:?}").into()
    }
}

/// A change of some properties; `None` leaves a property as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkEdit {
    /// Another target.
    pub target: Option<TargetUrl>,
    /// Resumed or paused.
    pub is_active: Option<bool>,
    /// A new title, or no title.
    pub title: FieldEdit<Title>,
    /// Other tags.
    pub tags: Option<TagEdit>,
    /// A new end, or no end.
    pub expires_at: FieldEdit<Timestamp>,
    /// Another click limit, or no limit.
    pub max_clicks: FieldEdit<MaxClicks>,
    /// Whether a visitor's query is added.
    pub forward_query: Option<bool>,
    /// A new start, or no start.
    pub starts_at: FieldEdit<Timestamp>,
    /// Another fallback, or no fallback.
    pub fallback: FieldEdit<TargetUrl>,
    /// A new note, or no note.
    pub note: FieldEdit<PrivateNote>,
    /// Whether search engines are asked not to list the link.
    pub noindex: Option<bool>,
    /// The hash of another password, or no password.
    pub password: FieldEdit<PasswordHash>,
    /// A new password, which becomes `password` once it is hashed.
    pub new_password: Option<LinkPassword>,
    /// Other rules, or no rules.
    pub rules: FieldEdit<Rules>,
    /// Other codes beside the link's own.
    pub aliases: Option<Aliases>,
}

impl LinkEdit {
    /// These properties, changed.
    ///
    /// # Errors
    /// [`InvalidProperty::ManyTags`] if the link would have too many tags; as [`LinkProperties::checked`].
    pub fn apply(&self, to: &LinkProperties) -> Result<LinkProperties, InvalidProperty> {
        let edit = self.clone();
        let properties = LinkProperties {
            target: edit.target.unwrap_or_else(|| to.target.clone()),
            is_active: edit.is_active.unwrap_or(to.is_active),
            title: edit.title.apply(to.title.as_ref()),
            tags: match edit.tags {
                Some(tags) => tags.apply(&to.tags)?,
                None => to.tags.clone(),
            },
            expires_at: edit.expires_at.apply(to.expires_at.as_ref()),
            max_clicks: edit.max_clicks.apply(to.max_clicks.as_ref()),
            forward_query: edit.forward_query.unwrap_or(to.forward_query),
            starts_at: edit.starts_at.apply(to.starts_at.as_ref()),
            fallback: edit.fallback.apply(to.fallback.as_ref()),
            note: edit.note.apply(to.note.as_ref()),
            noindex: edit.noindex.unwrap_or(to.noindex),
            password: edit.password.apply(to.password.as_ref()),
            rules: edit.rules.apply(to.rules.as_ref()),
            aliases: edit.aliases.unwrap_or_else(|| to.aliases.clone()),
        };
        properties.checked()
    }
}

/// What becomes of the tags of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagEdit {
    /// The link has these tags from now on.
    Set(Tags),
    /// It has these tags, too.
    Add(Tags),
    /// Removes these tags.
    Remove(Tags),
}

impl TagEdit {
    fn apply(self, to: &Tags) -> Result<Tags, InvalidProperty> {
        match self {
            Self::Set(tags) => Ok(tags),
            Self::Add(more) => Tags::parse(to.0.iter().chain(&more.0).map(String::as_str)),
            Self::Remove(tags) => {
                let left = to.0.iter().filter(|tag| !tags.0.contains(tag));
                Ok(Tags(left.cloned().collect()))
            }
        }
    }
}

/// Any properties, with texts like these and numbers below this one.
#[cfg(test)]
pub(crate) fn any_properties(
    [target, title, tag, note]: [&'static str; 4],
    below: u64,
) -> impl proptest::strategy::Strategy<Value = LinkProperties> {
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;

    let texts = (target, of(title), vec(tag, 0..4), of(target), of(note));
    let moment = || of(0..below.cast_signed());
    let numbers = (moment(), moment(), of(1..below));
    let flags = any::<(bool, bool, bool)>();
    let hash = of(super::link_password::any_hash());
    let aliases = proptest::collection::hash_set("[ab]{1,2}", 0..3);
    (texts, numbers, flags, hash, aliases).prop_map(
        |((target, title, tags, fallback, note), (start, end, max), flags, password, aliases)| {
            LinkProperties {
                target: TargetUrl::from_stored(&target),
                is_active: flags.0,
                title: title.and_then(|title| Title::parse(&title).unwrap()),
                tags: Tags::parse(tags.iter().map(String::as_str)).unwrap(),
                expires_at: end.and_then(Timestamp::from_micros),
                max_clicks: max.map(|max| MaxClicks::parse(max).unwrap()),
                forward_query: flags.1,
                starts_at: start
                    .filter(|start| end.is_none_or(|end| *start < end))
                    .and_then(Timestamp::from_micros),
                fallback: fallback.map(|fallback| TargetUrl::from_stored(&fallback)),
                note: note.and_then(|note| PrivateNote::parse(&note).unwrap()),
                noindex: flags.2,
                password,
                rules: None,
                aliases: Aliases::parse(aliases.iter().map(String::as_str), |_| false).unwrap(),
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// So few that they are often equal.
    fn few() -> impl Strategy<Value = LinkProperties> {
        let texts = [
            "https://[ab]\\.example/",
            "[ab]{0,2}",
            "[ab]{0,2}",
            "[a\n]{0,2}",
        ];
        any_properties(texts, 3)
    }

    #[test]
    fn tags_that_are_added_are_refused_past_twenty_with_those_of_the_link() {
        let list = |numbers: std::ops::Range<u8>| {
            let tags: Vec<_> = numbers.map(|number| number.to_string()).collect();
            Tags::parse(tags.iter().map(String::as_str)).unwrap()
        };
        let add = |more| TagEdit::Add(more).apply(&list(0..15));
        assert_eq!(add(list(10..20)), Ok(list(0..20)));
        assert_eq!(add(list(10..21)), Err(InvalidProperty::ManyTags));
    }

    #[test]
    fn an_edit_after_which_the_link_would_end_before_its_start_is_refused() {
        let moment = Timestamp::from_micros;
        let mut link = LinkProperties::of(TargetUrl::from_stored("https://a.example/"));
        (link.starts_at, link.expires_at) = (moment(5), moment(7));
        let starts = |micros| LinkEdit {
            starts_at: moment(micros).into(),
            ..LinkEdit::default()
        };
        let ends = |micros| LinkEdit {
            expires_at: moment(micros).into(),
            ..LinkEdit::default()
        };
        for edit in [starts(7), starts(8), ends(5), ends(4)] {
            assert_eq!(edit.apply(&link), Err(InvalidProperty::StartsAfterEnd));
        }
        for edit in [starts(6), ends(6), LinkEdit::default()] {
            assert!(edit.apply(&link).is_ok());
        }
    }

    proptest! {
        #[test]
        fn properties_differ_exactly_where_their_bytes_do(one in few(), other in few()) {
            prop_assert_eq!(one == other, one.canonical() == other.canonical());
        }

        #[test]
        fn tags_that_are_added_and_removed_again_leave_the_others_in_their_order(
            tags in "[a-h,]{0,12}", more in "[a-h,]{0,12}",
        ) {
            let (tags, more) = (Tags::parse_list(&tags).unwrap(), Tags::parse_list(&more).unwrap());
            let added = TagEdit::Add(more.clone()).apply(&tags).unwrap();
            prop_assert_eq!(&added.0[..tags.0.len()], &tags.0[..]);
            prop_assert!(more.0.iter().all(|tag| added.0.contains(tag)));
            prop_assert_eq!(TagEdit::Add(more.clone()).apply(&added), Ok(added.clone()));
            let removed = TagEdit::Remove(more.clone()).apply(&added).unwrap();
            let left: Vec<_> = tags.0.iter().filter(|tag| !more.0.contains(tag)).cloned().collect();
            prop_assert_eq!(removed.0, left);
        }
    }
}
