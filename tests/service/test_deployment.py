"""The files in deploy/ agree with the code, with pyproject.toml and with each other."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from thrifty.service.server import gate, writer

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "deploy" / "requirements.lock").read_text()
UNIT = (ROOT / "deploy" / "thrifty.service").read_text()
NGINX = (ROOT / "deploy" / "nginx.conf").read_text()
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text()
PAGE = (ROOT / "docs" / "deploy.md").read_text()
GRACEFUL = 10  # seconds that the web server gives open connections (server/serving.py)
LOCKED = [
    Requirement(line.rstrip(" \\")) for line in LOCK.splitlines() if re.match(r"[a-zA-Z0-9]", line)
]


def declared():
    """What pyproject.toml asks for: of the core, of the extra service, and to build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    core, extras = project["project"]["dependencies"], project["project"]["optional-dependencies"]
    texts = [*core, *extras["service"], *project["build-system"]["requires"]]
    return [Requirement(text) for text in texts]


def locked(name):
    """The versions of a package in the lock; several, where they depend on Python's."""
    mine = [one for one in LOCKED if canonicalize_name(one.name) == canonicalize_name(name)]
    return [specifier.version for one in mine for specifier in one.specifier]


@pytest.mark.parametrize("asked", declared(), ids=lambda asked: asked.name)
def test_the_lock_has_what_is_asked_for(asked):
    versions = locked(asked.name)
    assert versions, "make lock"
    assert all(asked.specifier.contains(version) for version in versions)


def test_the_lock_has_what_its_packages_need():
    """Where they are installed here in the version of the lock, and so need the same."""
    known = {canonicalize_name(one.name) for one in LOCKED}
    extras = {asked.name: asked.extras for asked in declared()}
    for one in LOCKED:
        try:
            installed = distribution(one.name)
        except PackageNotFoundError:  # of another system
            continue
        if installed.version not in locked(one.name):
            continue
        for text in installed.requires or []:
            needed = Requirement(text)
            chosen = [{"extra": extra} for extra in ("", *extras.get(one.name, ()))]
            if needed.marker is None or any(map(needed.marker.evaluate, chosen)):
                assert canonicalize_name(needed.name) in known, f"{one.name} needs {needed.name}"


def test_the_lock_has_exact_versions_with_hashes_and_names_no_host():
    entries = re.split(r"\n(?=[a-zA-Z0-9])", LOCK.strip())
    assert len(entries) == len(LOCKED)
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+ ", entry), entry[:60]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry[:60]
    assert "://" not in LOCK
    assert "--index-url" not in LOCK


def test_the_image_has_an_exact_version_and_only_what_is_locked():
    assert re.search(r"^FROM python:3\.\d+\.\d+-slim-\w+$", CONTAINER, re.MULTILINE)
    installs = re.findall(r"pip install (.*)", CONTAINER)
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]


def test_a_stop_has_the_time_that_the_server_may_take():
    longest = GRACEFUL + writer.LEAVING
    [unit] = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    [container] = re.findall(r"--stop-timeout (\d+)", PAGE)
    assert min(int(unit), int(container)) >= longest + 10


def test_limits_of_the_proxy_are_not_below_those_of_the_service():
    [megabytes] = re.findall(r"client_max_body_size (\d+)m;", NGINX)
    assert gate.MOST_BYTES <= int(megabytes) * 2**20 < 1.1 * gate.MOST_BYTES
    [files] = re.findall(r"^LimitNOFILE=(\d+)$", UNIT, re.MULTILINE)
    assert int(files) > 10 * gate.MOST_IN_FLIGHT
    for directive in ("limit_req", "limit_conn"):
        assert f"{directive}_status 429;" in NGINX
        [zone] = re.findall(rf"{directive}_zone \$binary_remote_addr zone=(\w+):", NGINX)
        assert re.search(rf"{directive} (zone=)?{zone} ", NGINX)


def test_the_unit_leaves_what_the_compiler_needs():
    settings = dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.MULTILINE))
    assert "MemoryDenyWriteExecute" not in settings
    assert "ProcSubset" not in settings
    assert settings["CacheDirectory"] == "thrifty"
    hardened = {
        "CapabilityBoundingSet": "",
        "SystemCallArchitectures": "native",
        "ProtectSystem": "strict",
        "ProtectProc": "invisible",
        "UMask": "0077",
    }
    assert hardened.items() <= settings.items()
    assert "SystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources\n" in UNIT
    for name in ("NoNewPrivileges", "PrivateUsers", "ProtectKernelModules", "ProtectKernelLogs"):
        assert settings[name] == "yes"
