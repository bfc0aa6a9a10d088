# For .ci/run and tests/run, which source it: steps that say how long they took, and steps that run beside the others.

beside_names=()
beside_pids=()
# What the steps beside print, until they have ended.
beside_folder=$(mktemp -d)

say() { printf '%s: %s\n' "${0#"$PWD/"}" "$*"; }
fail() { say "$*" >&2; exit 1; }

# step NAME COMMAND...: fails if the command fails. Its name is said first, and at the end its seconds.
step() {
    local name=$1 began=$SECONDS
    shift
    say "$name"
    "$@"
    say "$name: $((SECONDS - began)) s"
}

# beside NAME COMMAND...: a step in the background, for what waits more than it computes.
beside() {
    # In a process group of its own, so that Ctrl-C reaches it by `end_beside` only.
    set -m
    (step "$@") >"$beside_folder/${#beside_pids[@]}" 2>&1 </dev/null &
    set +m
    beside_names+=("$1")
    beside_pids+=($!)
}

# Waits for all steps in the background, and shows what they printed: failed steps come last.
join_beside() {
    local number failed=()
    for number in "${!beside_pids[@]}"; do
        if wait "${beside_pids[$number]}"; then
            cat "$beside_folder/$number"
        else
            failed+=("$number")
        fi
    done
    beside_pids=()
    for number in "${failed[@]}"; do
        cat "$beside_folder/$number" >&2
        say "${beside_names[$number]}: FAILED" >&2
    done
    [ ${#failed[@]} -eq 0 ]
    beside_names=()
}

# Ends the steps in the background, with every process that they have started.
end_beside() {
    local found=("${beside_pids[@]}") more=("${beside_pids[@]}")
    while [ ${#more[@]} -gt 0 ]; do
        mapfile -t more < <(pgrep -P "$(IFS=,; printf '%s' "${more[*]}")" || true)
        found+=("${more[@]}")
    done
    [ ${#found[@]} -eq 0 ] || kill "${found[@]}" 2>/dev/null || true
    [ ${#beside_pids[@]} -eq 0 ] || wait "${beside_pids[@]}" 2>/dev/null || true
    rm -rf "$beside_folder"
}
