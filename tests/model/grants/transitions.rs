//! What each action does.

use super::{
    Action, Answer, Asked, Counting, Instance, Link, Message, Mutation, PAIR, State, World,
};

/// `None` where the action can do nothing.
pub(super) fn apply(world: &World, state: &mut State, action: &Action) -> Option<()> {
    match *action {
        Action::Visit(number) => visit(state, number)?,
        Action::Leave(number) => leave(state, number)?,
        Action::Ask(number) => ask(world, state, number)?,
        Action::AskAgain(number) => ask_again(world, state, number)?,
        Action::Arrive(message) => arrive(world, state, message, false),
        Action::ArriveWithAnswer(message) => arrive(world, state, message, true),
        Action::Admit(number) => admit(world, state, number)?,
        Action::Learn(number) => state.instances[number].knows |= state.books.announced,
        Action::Kill(number) => kill(state, number)?,
        Action::SetLimit => state.link.is_limited = true,
        Action::Announce | Action::BeginCounting | Action::Count | Action::EndCounting => {
            count_before(world, state, action)?;
        }
        Action::EndInterval => state.interval = 1,
    }
    Some(())
}

fn visit(state: &mut State, number: usize) -> Option<()> {
    state.visits = state.visits.checked_sub(1)?;
    let instance = &mut state.instances[number];
    if instance.knows {
        instance.gathered += 1;
        return Some(());
    }
    state.books.recorded += 1;
    if state.books.announced {
        // The acknowledgement says so.
        instance.knows = true;
        instance.to_admit += 1;
    } else {
        state.books.redirects += 1;
    }
    Some(())
}

fn leave(state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    let visitors = instance
        .asked
        .as_mut()
        .map(|asked| &mut asked.visitors)
        .filter(|visitors| **visitors > 0);
    let waiting = visitors.unwrap_or(&mut instance.gathered);
    *waiting = waiting.checked_sub(1)?;
    state.leaves = state.leaves.checked_sub(1)?;
    Some(())
}

fn recorder(number: usize, instance: &Instance) -> usize {
    PAIR * number + usize::from(instance.starts)
}

fn ask(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    if instance.asked.is_some() || instance.gathered == 0 {
        return None;
    }
    instance.number += 1;
    let visitors = std::mem::take(&mut instance.gathered);
    let wanted = visitors.saturating_sub(instance.unused);
    instance.asked = Some(Asked {
        number: instance.number,
        wanted,
        visitors,
    });
    send(world, state, number)
}

fn ask_again(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    let asked = instance.asked.as_mut()?;
    if world.without(Mutation::RepetitionIsANewBatch) {
        if instance.number == 3 {
            return None;
        }
        instance.number += 1;
        asked.number = instance.number;
    }
    send(world, state, number)
}

fn send(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &state.instances[number];
    let Asked {
        number: batch,
        wanted,
        ..
    } = instance.asked?;
    let left = world
        .without(Mutation::RowIsNotLocked)
        .then(|| left(world, &state.link))
        .flatten();
    let (recorder, interval) = (recorder(number, instance), state.interval);
    // The batch keeps its interval.
    let is_there = |message: &Message| matches!(message, Message::Ask { recorder: other, number, .. } if (*other, *number) == (recorder, batch));
    if state.network.iter().any(is_there) {
        return None;
    }
    state.network.push(Message::Ask {
        recorder,
        number: batch,
        wanted,
        interval,
        left,
    });
    Some(())
}

/// How many clicks are left; `None` before those from before the limit are counted.
fn left(world: &World, link: &Link) -> Option<u8> {
    link.before
        .map(|before| world.max_clicks.saturating_sub(before + link.granted))
}

fn arrive(world: &World, state: &mut State, message: usize, is_answered: bool) {
    match state.network.remove(message) {
        Message::Ask {
            recorder,
            number,
            wanted,
            interval,
            left: read,
        } => {
            let Some(answer) = grant(world, state, (recorder, number), wanted, interval, read)
            else {
                return;
            };
            if is_answered {
                answered(world, state, recorder, number, answer);
            } else {
                state.network.push(Message::Answered {
                    recorder,
                    number,
                    answer,
                });
            }
        }
        Message::Answered {
            recorder,
            number,
            answer,
        } => {
            // An answer that arrives without one is lost.
            if is_answered {
                answered(world, state, recorder, number, answer);
            }
        }
    }
}

/// The transaction. `None` for a batch that is older than one that was asked for.
fn grant(
    world: &World,
    state: &mut State,
    batch: (usize, u8),
    wanted: u8,
    interval: u8,
    read: Option<u8>,
) -> Option<Answer> {
    let known = state
        .answers
        .iter()
        .find(|(known, _)| *known == batch)
        .map(|(_, answer)| *answer);
    if let Some(answer) = known {
        if world.without(Mutation::RepetitionCountsInItsInterval)
            && let Answer::Granted(clicks) = answer
        {
            state.link.series[usize::from(interval)] += clicks;
        }
        if !world.without(Mutation::AnswerIsNotNoted) {
            return Some(answer);
        }
    }
    if state
        .answers
        .iter()
        .any(|((recorder, number), _)| *recorder == batch.0 && *number > batch.1)
    {
        return None;
    }
    let link = &mut state.link;
    let answer = match read.or_else(|| left(world, link)) {
        None => Answer::Uncounted,
        Some(left) => {
            let clicks = wanted.min(left);
            link.granted += clicks;
            if !world.without(Mutation::GrantIsNotCounted) {
                link.counted += clicks;
            }
            link.series[usize::from(interval)] += clicks;
            state.books.intervals[usize::from(interval)] += clicks;
            state.books.granted_twice |= known.is_some() && clicks > 0;
            Answer::Granted(clicks)
        }
    };
    state.answers.retain(|(known, _)| *known != batch);
    state.answers.push((batch, answer));
    state.answers.sort_unstable();
    Some(answer)
}

fn answered(world: &World, state: &mut State, of: usize, batch: u8, answer: Answer) {
    let number = of / PAIR;
    let instance = &mut state.instances[number];
    let Some(asked) = instance
        .asked
        .filter(|asked| asked.number == batch && recorder(number, instance) == of)
    else {
        return;
    };
    instance.asked = None;
    let Answer::Granted(granted) = answer else {
        // They are sent 503 once the counting is late.
        return;
    };
    let clicks = granted + std::mem::take(&mut instance.unused);
    let redirected = clicks.min(asked.visitors);
    if !world.without(Mutation::UnusedIsForgotten) {
        instance.unused = clicks - redirected;
    }
    redirect(world, state, redirected);
    if redirected < asked.visitors {
        state.books.refused = true;
        let unsent: u8 = (0..PAIR).map(|number| unsent(state, number)).sum();
        let used = state.books.redirects + state.books.lost + unsent;
        // Clicks that were recorded and wait to be admitted are among those from before the limit.
        let waiting: u8 = state
            .instances
            .iter()
            .map(|instance| instance.to_admit)
            .sum();
        state.books.too_few |= used + waiting < world.max_clicks;
    }
}

fn redirect(world: &World, state: &mut State, clicks: u8) {
    state.books.redirects += clicks;
    state.books.is_one_too_many |= clicks > 0 && state.books.redirects > world.max_clicks;
}

/// Clicks that are granted to an instance and not sent on.
fn unsent(state: &State, number: usize) -> u8 {
    let instance = &state.instances[number];
    let of_batch = instance.asked.and_then(|asked| {
        let batch = (recorder(number, instance), asked.number);
        state
            .answers
            .iter()
            .find(|(known, _)| *known == batch)
            .map(|(_, answer)| *answer)
    });
    let of_batch = match of_batch {
        Some(Answer::Granted(clicks)) => clicks,
        _ => 0,
    };
    instance.unused + of_batch
}

fn kill(state: &mut State, number: usize) -> Option<()> {
    if state.instances[number].starts > 0 {
        return None;
    }
    state.kills = state.kills.checked_sub(1)?;
    // A batch on its way may be granted yet: to no process.
    state.books.lost += unsent(state, number);
    let killed = &state.instances[number];
    let in_flight = killed.asked.is_some() && unsent(state, number) == killed.unused;
    if in_flight {
        state.books.lost += killed.asked.map_or(0, |asked| asked.wanted);
    }
    let knows = killed.knows;
    state.instances[number] = Instance {
        starts: 1,
        knows,
        ..Instance::default()
    };
    Some(())
}

fn admit(world: &World, state: &mut State, number: usize) -> Option<()> {
    let instance = &mut state.instances[number];
    instance.to_admit = instance.to_admit.checked_sub(1)?;
    let link = &mut state.link;
    match link.before {
        None => {
            if !world.without(Mutation::CountingMissesClicks) {
                link.counting = None;
            }
            // It is one of those from before the limit.
            state.books.redirects += 1;
        }
        Some(before) if before + link.granted < world.max_clicks => {
            link.granted += 1;
            // Its record may be among those from before the limit, too: then it takes up two.
            state.books.lost += 1;
            redirect(world, state, 1);
        }
        // Counted and refused.
        Some(_) => state.books.lost += 1,
    }
    Some(())
}

fn count_before(world: &World, state: &mut State, action: &Action) -> Option<()> {
    if !state.link.is_limited || state.link.before.is_some() {
        return None;
    }
    let counts_early = world.without(Mutation::CountedBeforeAnnounced);
    state.counting = match (action, state.counting) {
        (Action::Announce, Counting::Idle) => {
            state.link.has_row = true;
            state.books.announced = !counts_early;
            Counting::Announced
        }
        // Every instance should know of it by then; one may not.
        (Action::BeginCounting, Counting::Announced) if state.books.countings < 3 => {
            state.books.countings += 1;
            state.link.counting = Some(state.books.countings);
            Counting::Begun(state.books.countings)
        }
        (Action::Count, Counting::Begun(counting)) => {
            Counting::Counted(counting, state.books.recorded)
        }
        (Action::EndCounting, Counting::Counted(counting, clicks)) => {
            if state.link.counting == Some(counting) {
                state.link.before = Some(clicks);
                state.link.counting = None;
                state.books.announced = true;
            }
            Counting::Announced
        }
        _ => return None,
    };
    Some(())
}
