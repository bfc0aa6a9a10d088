//! The click protocol as a model, checked exhaustively. Run with `--nocapture`, each check says how many states it saw.

use shunt_model::{Checked, changes, grants, parts, pipeline};

/// More steps than any way through the worlds that are checked to their ends.
const TO_THE_END: usize = 100;

/// Steps within which every mutation is found.
const OF_MUTATIONS: usize = 18;

fn is_long() -> bool {
    std::env::var_os("SHUNT_TEST_LONG").is_some()
}

fn keeps_its_rules(name: &str, checked: &Checked) {
    let Checked {
        states,
        depth,
        is_complete,
        took,
        ..
    } = checked;
    let extent = if *is_complete {
        "all of them"
    } else {
        "all that these steps reach"
    };
    println!("{name}: {states} states, {depth} steps, {extent}, in {took:.1?}");
    if let Some((property, steps)) = checked.broken.first() {
        panic!("{name}: broken is {property}\n{steps}");
    }
    assert!(
        checked.missing.is_empty(),
        "{name}: never seen was {:?}",
        checked.missing
    );
}

fn is_found(mutation: &str, property: &str, checked: &Checked) {
    let is_found = checked.broken.iter().any(|(broken, _)| *broken == property);
    assert!(
        is_found,
        "{mutation} is not found by {property}: {checked:?}"
    );
}

fn all_keep_their_rules(worlds: &[(&str, pipeline::World, usize, usize)]) {
    for (name, world, depth, long) in worlds {
        keeps_its_rules(
            name,
            &world.check(if is_long() { *long } else { *depth }, None),
        );
    }
}

#[test]
fn every_rule_of_the_click_pipeline_holds_in_every_state_that_so_many_steps_reach() {
    all_keep_their_rules(pipeline::World::REDIS_KEEPS);
}

#[test]
fn every_rule_of_the_click_pipeline_holds_in_as_many_states_while_redis_loses_data_or_is_superseded()
 {
    all_keep_their_rules(pipeline::World::REDIS_FAILS);
}

#[test]
fn every_rule_that_is_switched_off_is_found_by_its_property() {
    for mutation in pipeline::Mutation::ALL {
        let (property, world) = mutation.breaks();
        is_found(
            &format!("{mutation:?}"),
            property,
            &world.check(OF_MUTATIONS, Some(property)),
        );
    }
}

#[test]
fn a_limit_of_clicks_is_kept_exactly_in_every_state_that_there_is() {
    let visits = if is_long() { 4 } else { 3 };
    let worlds = [
        (
            "a limit",
            grants::World {
                visits,
                ..grants::World::LIMITED
            },
        ),
        (
            "a limit that is set later",
            grants::World {
                visits,
                ..grants::World::SET_LATER
            },
        ),
    ];
    for (name, world) in worlds {
        let checked = world.check(TO_THE_END, None);
        keeps_its_rules(name, &checked);
        assert!(checked.is_complete, "{name}: not all states were reached");
    }
}

#[test]
fn every_part_of_the_rule_of_grants_that_is_switched_off_is_found_by_its_property() {
    for mutation in grants::Mutation::ALL {
        let (property, world) = mutation.breaks();
        is_found(
            &format!("{mutation:?}"),
            property,
            &world.check(OF_MUTATIONS, Some(property)),
        );
    }
}

#[test]
fn a_deleted_link_is_followed_only_as_documented_in_every_state_that_there_is() {
    let checked = changes::World::HARMED.check(TO_THE_END, None);
    keeps_its_rules("a deletion", &checked);
    assert!(checked.is_complete, "not all states were reached");
}

#[test]
fn every_part_of_the_rule_of_deletions_that_is_switched_off_is_found_by_its_property() {
    for mutation in changes::Mutation::ALL {
        let (property, world) = mutation.breaks();
        is_found(
            &format!("{mutation:?}"),
            property,
            &world.check(OF_MUTATIONS, Some(property)),
        );
    }
}

#[test]
fn clicks_are_appended_merged_and_read_exactly_in_every_state_that_so_many_steps_reach() {
    for (name, world, depth, long) in parts::World::ALL {
        keeps_its_rules(
            name,
            &world.check(if is_long() { *long } else { *depth }, None),
        );
    }
}

#[test]
fn every_part_of_the_rules_of_parts_and_merge_that_is_switched_off_is_found_by_its_property() {
    for mutation in parts::Mutation::ALL {
        let (property, world) = mutation.breaks();
        is_found(
            &format!("{mutation:?}"),
            property,
            &world.check(OF_MUTATIONS, Some(property)),
        );
    }
}
