# What the scripts of this folder share: building, starting and stopping servers, and describing the machine.
# Sourced, never run. Whatever is started is stopped by its process id when the script ends.

server_core=0
load_core=1
started_pids=()

# The folder of one run, on the disk that holds the repository.
make_work_dir() {
    work=$root/target/bench/$1-$$
    mkdir -p "$work"
    local kind
    kind=$(stat -f -c %T "$work")
    if [[ $kind == tmpfs || $kind == ramfs ]]; then
        echo "$work is on $kind: a sync costs nothing there; put the repository on a disk" >&2
        exit 2
    fi
    trap clean_up EXIT
    trap 'exit 130' INT TERM
}

clean_up() {
    local pid
    for pid in "${started_pids[@]}"; do stop "$pid"; done
    rm -rf "$work"
}

# Ends the process that was started here, and waits until it is gone.
stop() {
    kill "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
    local pid left=()
    for pid in "${started_pids[@]}"; do [[ $pid == "$1" ]] || left+=("$pid"); done
    started_pids=("${left[@]}")
}

# With `no_build=yes` it takes what an earlier build left.
build() {
    [[ ${no_build:-} == yes ]] || (cd "$root" && cargo build --release --quiet -p pricetime -p pricetime-bench --bins)
    binaries=${CARGO_TARGET_DIR:-$root/target}/release
    [[ $binaries == /* ]] || binaries=$root/$binaries
}

# Waits until the server $pid has said all that it says on starting, and puts where it takes requests in $address.
await_address() {
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        if grep -qs '^ *try it:' "$work/pricetime.log"; then
            address=$(sed -nE 's/^ *XML +([0-9.]+:[0-9]+) .*/\1/p' "$work/pricetime.log")
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    echo "the server did not start; it said:" >&2
    cat "$work/pricetime.log" >&2
    exit 1
}

# Leaves $pid and $address behind; goes on with the data of the one before until `end_server` forgets it.
start_pricetime() {
    setup=()
    # What an earlier server said is not this one's.
    rm -f "$work/pricetime.log"
    taskset -c "$server_core" "$binaries/pricetime" serve --workers 1 --xml 127.0.0.1:0 --http 127.0.0.1:0 \
        --data "$work/pricetime" "$@" >"$work/pricetime.log" 2>&1 &
    pid=$!
    started_pids+=("$pid")
    await_address
}

# Puts a load on the server $pid at $address, with these flags of `pricetime-bench run`, and leaves its record in $record.
# The first one since the server started makes the accounts that the others use, too.
load() {
    record=$work/record.json
    if ! "$binaries/pricetime-bench" run --target "$address" --client-cores "$load_core" --warmup 0 "${setup[@]}" \
        --json "$record" "$@" >"$work/load.log" 2>&1; then
        cat "$work/load.log" >&2
        kill -0 "$pid" 2>/dev/null || echo "the server has ended; it said: $(tail -n 5 "$work/pricetime.log")" >&2
        exit 1
    fi
    setup=(--no-setup)
}

# Stops the server $pid and forgets its data, so that its writing back does not disturb the next one.
end_server() {
    stop "$pid"
    rm -rf "$work"/pricetime{,.log}
    sync -f "$work"
}

# What the record of the last load has under the name $1; each figure stands on a line of its own.
figure() {
    sed -nE "s/^ *\"$1\": ([0-9.]+),?\$/\\1/p" "$record"
}

snapshots_taken() {
    grep -c 'snapshot taken' "$work/pricetime.log" || true
}

describe_machine() {
    echo "machine     $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(uname -sr)"
    echo "disk        $(df --output=source,fstype "$work" | tail -1 | tr -s ' ') ($(stat -f -c %T "$work"))"
    echo "network     loopback, congestion control $(cat /proc/sys/net/ipv4/tcp_congestion_control)"
    echo "commit      $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)$(
        [[ -z $(git -C "$root" status --porcelain 2>/dev/null) ]] || echo ' and changes')"
}

need_two_cores() {
    if (($(nproc) < 2)); then
        echo "needs 2 cores: one for the server and one for the load" >&2
        exit 2
    fi
}
