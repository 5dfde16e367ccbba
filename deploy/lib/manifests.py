"""What no schema says of the compose files and of the manifests for Kubernetes: that they fit the programs, and each other. Prints how many
objects there are.

manifests.py CONFIGURATION VERSION FOLDER MANIFEST...

FOLDER has compose.yaml, and compose.cluster.yaml, which adds to it.
"""

import json
import re
import sys
from pathlib import Path

import yaml

configuration, version, folder, *manifests = sys.argv[1:]
faults = []


def read(file):
    """The documents of a file."""
    with open(file) as text:
        return list(yaml.safe_load_all(text))


def keys(sections):
    """The names of a configuration's keys, such as `api.port`."""
    return {f"{section}.{key}" for section, values in sections.items() for key in values}


def pods(node):
    """The specifications of pods in an object, wherever they are."""
    if isinstance(node, dict):
        if "containers" in node:
            yield node
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from pods(child)


KNOWN = keys(read(configuration)[0])
VARIABLES = {"PUSHLINE_" + key.replace(".", "_").upper() for key in KNOWN}


def check_variables(place, names):
    """Programs only warn of a variable that they do not know."""
    unknown = {name for name in names if name.startswith("PUSHLINE_")} - VARIABLES
    faults.extend(f"{place}: no setting is called {name}" for name in sorted(unknown))


def check_pod(place, pod):
    # With links a Service named pushline-api sets PUSHLINE_API_PORT to an address.
    if pod.get("enableServiceLinks") is not False:
        faults.append(f"{place}: a pod without enableServiceLinks: false")
    for container in pod.get("initContainers", []) + pod["containers"]:
        where = f"{place}: {container['name']}"
        if container["image"] != f"pushline:{version}":
            faults.append(f"{where}: the image is {container['image']}, and the version is {version}")
        check_variables(where, (variable["name"] for variable in container.get("env", [])))


def check_service(place, service, declared):
    check_variables(place, service.get("environment", {}))
    sources = [volume.split(":")[0] for volume in service.get("volumes", [])]
    # A variable names the user's own.
    volumes = {source for source in sources if source[0] not in ".$"}
    files = [Path(folder, source) for source in sources if source[0] == "."]
    faults.extend(f"{place}: there is no {file}" for file in files if not file.exists())
    # Its own words, and those of the files that it is given.
    text = "\n".join([json.dumps(service), *(file.read_text() for file in files if file.is_file())])
    asked = {
        "services": {*re.findall(r"@([\w-]+)", text), *service.get("depends_on", {})},
        "secrets": set(service.get("secrets", [])),
        "volumes": volumes,
    }
    for kind, names in asked.items():
        faults.extend(f"{place}: {name} is none of the {kind}" for name in sorted(names - declared[kind]))
    missing = set(re.findall(r"/run/secrets/([\w-]+)", text)) - asked["secrets"]
    faults.extend(f"{place}: it is not given the secret {name}" for name in sorted(missing))


def check_compose():
    """Each file's services, by what it and those before it declare."""
    declared = {"services": set(), "secrets": set(), "volumes": set()}
    for name in ("compose.yaml", "compose.cluster.yaml"):
        file = read(Path(folder, name))[0]
        for kind, names in declared.items():
            names.update(file.get(kind, {}))
        for service, found in file["services"].items():
            place = f"{name}: {service}"
            check_service(place, found, declared)
            base = found.get("extends")
            if base and base["service"] not in read(Path(folder, base["file"]))[0]["services"]:
                faults.append(f"{place}: {base['file']} has no service {base['service']}")


check_compose()
objects =objects = [(file, found) for file in manifests for found in read(file)]
for file, found in objects:
    place = f"{file}: {found['kind']} {found['metadata']['name']}"
    if found["kind"] == "ConfigMap":
        unknown = keys(yaml.safe_load(found["data"]["pushline.yaml"])) - KNOWN
        faults.extend(f"{place}: there is no setting {key}" for key in sorted(unknown))
    for pod in pods(found):
        check_pod(place, pod)
if not any(True for _, found in objects for _ in pods(found)):
    faults.append("no manifest has a pod")
print(*faults or [len(objects)], sep="\n")
sys.exit(1 if faults else 0)
