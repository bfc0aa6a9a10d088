//! placeholder
#[test]
fn probe() {
    use shunt_model::pipeline::World;
    let env = |name: &str, or: u8| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(or);
    let world = World {
        batches: env("B", 2), instances: env("I", 1), flushes: env("F", 1) > 0, reads: env("R", 0), kills: env("K", 0),
        crashes: env("C", 0), snapshots: env("S", 0), redis_faults: env("RF", 0), outages: env("O", 0) > 0,
        quarters: env("Q", 0) > 0, deletes: env("D", 0) > 0, mutation: None,
    };
    println!("{:#?}", shunt_model::check(world, env("DEPTH", 12) as usize, None));
}
