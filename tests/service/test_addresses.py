"""Addresses of services: what is accepted, in which form, and what is said of the others."""

import pytest

from thrifty.errors import InvalidInput
from thrifty.service.addresses import checked_address, is_everywhere


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("HTTP://Server_1:80/", "http://server_1"),
        ("https://example.org:443/thrifty//", "https://example.org/thrifty"),
        ("https://example.org:80", "https://example.org:80"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://bücher.example/a b", "http://xn--bcher-kva.example/a%20b"),
        ("http://host/a/../b", "http://host/b"),
        ("http://shared.example.:8080", "http://shared.example:8080"),
        ("http://127.0.0.1./", "http://127.0.0.1"),
        ("http://bücher.example.", "http://xn--bcher-kva.example"),
    ],
)
def test_an_address_has_one_form(url, normal):
    assert checked_address(url) == normal
    assert checked_address(normal) == normal


NOT = """
    host 127.0.0.1:8080 ftp://host file:///etc //host http:// http:host http:///path http://host:0
    http://host:-1 http://host:65536 http://host:x http://[::1 http://[fe80::1%eth0] http://ho%00st
    http://ho\\st http://* http://a,b http://999.1.1.1 http://xn--a
"""
HIDDEN = """
    http://user:secret@host http://@host http://host?a=secret http://host? http://host#
    http://host/#secret http://host\\@secret http://user:secret@host:x
"""


@pytest.mark.parametrize(
    "url",
    [
        *NOT.split(),
        *(None, 7, b"http://host", "", " http://host", "http://host\n", "http://ho st"),
        "http://host/\udc80",
        *(
            f"http://{host}"
            for host in ("a..b", "a..", ".", ".a", "-a", 64 * "a", 127 * "a." + "a")
        ),
        "http://host/" + 70_000 * "a",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(InvalidInput, match=r"^--url: an address such as http://127\.0\.0\.1:8080 "):
        checked_address(url, "--url")


@pytest.mark.parametrize("url", HIDDEN.split())
def test_users_queries_and_fragments_are_refused_and_not_repeated(url):
    with pytest.raises(InvalidInput, match=r"^url: pass .*, without user, query or fragm") as error:
        checked_address(url)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "0", "0.0", "0x0", "::", "::0", "::ffff:0.0.0.0"])
def test_hosts_that_mean_all_addresses(host):
    assert is_everywhere(host)


@pytest.mark.parametrize(
    "host", ["", "127.0.0.1", "127.1", "1", "::1", "fe80::1%eth0", "0.example"]
)
def test_hosts_that_mean_one(host):
    assert not is_everywhere(host)
