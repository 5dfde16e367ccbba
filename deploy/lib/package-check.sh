# shellcheck shell=bash
# How deploy/package --check tries the packages in a Debian of its own. To be sourced by it; what happens inside is in package-inside.sh.

# The fresh Debian.
DEBIAN="$PUSHLINE_DIR/package/debian"

# Ends the script where this machine does not allow what a systemd in a folder needs, and says what.
check_machine() {
    [ "$(id -u)" -eq 0 ] || die "--check boots a Debian in a folder: that needs root"
    if [ -d /run/systemd/system ]; then return; fi
    allowed "a mount namespace" true
    allowed "a tmpfs" mount -t tmpfs tmpfs /run
    allowed "namespaces of processes, networks, names and messages" unshare --pid --fork --net --uts --ipc mount -t proc proc /proc
    # shellcheck disable=SC2016
    allowed "control groups that can be written (cgroup2)" \
        bash -c 'mount -t cgroup2 cgroup2 /sys/fs/cgroup && mkdir "/sys/fs/cgroup/check-$$" && rmdir "/sys/fs/cgroup/check-$$"'
}

# Tries a command in a mount namespace of its own.
#   allowed WHAT COMMAND...
allowed() {
    local said
    said=$(unshare --mount --propagation private "${@:2}" 2>&1) ||
        die "--check boots a Debian in a folder, and this machine does not allow $1: $(tail -n 1 <<<"$said"). In a container, run that with CAP_SYS_ADMIN"
}

# Sets TRIAL to the debug build's command line tool: it alone can be given a step of the store (PUSHLINE_TRIAL_STEPS), and no version
# of Pushline has one that contracts yet.
find_trial_program() {
    TRIAL="$ROOT/.build/debug/pushline"
    if [ -x "$TRIAL" ]; then return; fi
    with_progress "Building a debug pushline" "$WORK/build-trial.log" swift build --package-path "$ROOT" --product pushline ||
        die "the build failed. Its log is ${WORK#"$ROOT"/}/build-trial.log"
}

# Has an older revision's own script make its packages, from a checkout of it.
make_from_packages() {
    local commit
    commit=$(git -C "$ROOT" rev-parse --verify --quiet "$FROM^{commit}") || die "git knows no revision $FROM"
    FROM_FOLDER="$WORK/from/$commit"
    if compgen -G "$FROM_FOLDER/*.deb" >/dev/null; then return; fi
    git -C "$ROOT" cat-file -e "$commit:deploy/package" 2>/dev/null || die "$FROM has no deploy/package: it cannot be an older version"
    rm -rf "$FROM_FOLDER"
    git clone -q --shared --no-checkout "$ROOT" "$FROM_FOLDER/sources"
    git -C "$FROM_FOLDER/sources" checkout -q --detach "$commit"
    with_progress "Building the packages of $FROM" "$FROM_FOLDER/build.log" env -u PUSHLINE_BIN "$FROM_FOLDER/sources/deploy/package" --short ||
        die "they could not be built. The log is ${FROM_FOLDER#"$ROOT"/}/build.log"
    mv "$FROM_FOLDER"/sources/.pushline/package/*.deb "$FROM_FOLDER/"
    rm -rf "$FROM_FOLDER/sources"
}

# Copies that revision's packages, as a version that is lower than ours.
#   copy_from_packages FOLDER
copy_from_packages() {
    local deb found tree="$WORK/from-tree"
    mkdir -p "$1"
    for deb in "$FROM_FOLDER"/*.deb; do
        found=$(dpkg-deb -f "$deb" Version)
        if dpkg --compare-versions "$found" lt "$VERSION"; then
            cp "$deb" "$1/"
            continue
        fi
        rm -rf "$tree"
        dpkg-deb -R "$deb" "$tree"
        # The simulator's package depends on the other by its version, too.
        sed -i "s|$found|${VERSION%-*}~from-1|" "$tree/DEBIAN/control"
        dpkg-deb --root-owner-group "${QUICK[@]}" --build "$tree" "$1/$(basename "$deb")" >/dev/null
        rm -rf "$tree"
    done
}

# An archive of a Debian with what the packages need, RabbitMQ, and what the check itself uses; it is kept. Sets BASE.
make_base() {
    local wanted
    wanted=$(for deb in "${DEBS[@]}"; do dpkg-deb -f "$deb" Depends; done | tr -d ' ' | tr ',' '\n' | sed 's/[(|].*//; /^pushline$/d' | sort -u | paste -sd,)
    wanted+=,systemd-sysv,rabbitmq-server,curl,jq,openssl
    BASE="$WORK/base-$(printf '%s' "$wanted" | cksum | cut -d ' ' -f 1).tar"
    if [ -s "$BASE" ]; then return; fi
    say "Fetching a Debian 12 ..."
    mmdebstrap --mode=root --format=tar --variant=apt --include="$wanted" bookworm "$BASE.part" >"$WORK/base.log" 2>&1 </dev/null ||
        die "it could not be made. The log is ${WORK#"$ROOT"/}/base.log"
    mv "$BASE.part" "$BASE"
}

# The folder with the Debian, and in it the packages, and the unit that tries them and then ends it.
make_debian() {
    rm -rf --one-file-system "$DEBIAN"
    mkdir -p "$DEBIAN"
    tar -C "$DEBIAN" -xf "$BASE"
    mkdir -p "$DEBIAN/check/newer"
    cp "${DEBS[@]}" "$DEBIAN/check/newer/"
    if [ -n "$FROM" ]; then
        copy_from_packages "$DEBIAN/check/older"
    else
        write_packages "${VERSION%-*}~older-1" "$DEBIAN/check/older" "${QUICK[@]}"
    fi
    # A debug build needs libraries that no release build does.
    install_binary "$TRIAL" "$DEBIAN/check/pushline-with-a-step" /check/libraries
    install_runtime "$DEBIAN/check/libraries" "$TRIAL"
    cp "$ROOT"/deploy/lib/{common,inside,package-inside}.sh "$DEBIAN/check/"
    cat >"$DEBIAN/etc/systemd/system/check.service" <<END
[Unit]
SuccessAction=poweroff
FailureAction=poweroff

[Service]
Type=oneshot
ExecStart=/bin/bash /check/package-inside.sh
StandardOutput=append:/check/result
StandardError=append:/check/result
END
    mkdir -p "$DEBIAN/etc/systemd/system/multi-user.target.wants"
    ln -s ../check.service "$DEBIAN/etc/systemd/system/multi-user.target.wants/"
}

# Boots it. Where this machine is itself run without systemd, its folders for that are made, for this alone, and the control groups that the
# inner systemd leaves are removed.
run_debian() {
    # shellcheck disable=SC2016  # words of the inner shell
    timeout 900 unshare --mount --propagation private bash -c '
        boot() { systemd-nspawn --directory="$1" --register=no --keep-unit --private-network --console=pipe --boot; }
        if [ -d /run/systemd/system ]; then
            boot "$1"
        else
            mount -t tmpfs tmpfs /run && mount -t cgroup2 cgroup2 /sys/fs/cgroup && boot "$1"
            find /sys/fs/cgroup/payload /sys/fs/cgroup/supervisor -depth -type d -exec rmdir {} +
        fi
    ' bash "$DEBIAN" >"$WORK/boot.log" 2>&1 </dev/null {LOCK_FD}>&- || true
    cat "$DEBIAN/check/result" 2>/dev/null || die "it did not boot: $(tail -n 3 "$WORK/boot.log" | paste -sd ' ')"
    [ "$(tail -n 1 "$DEBIAN/check/result")" = "Everything holds." ] || die "the check failed: see the lines above"
}
