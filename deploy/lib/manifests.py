"""What no schema says of compose.yaml and of the manifests for Kubernetes: that they fit the programs. Prints how many objects there are.

manifests.py CONFIGURATION VERSION COMPOSE MANIFEST...
"""

import sys

import yaml

configuration, version, compose, *manifests = sys.argv[1:]
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


for name, service in read(compose)[0]["services"].items():
    check_variables(f"{compose}: {name}", service.get("environment", {}))
objects = [(file, found) for file in manifests for found in read(file)]
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
