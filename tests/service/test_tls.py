"""A service with a certificate of its own: what is not TLS gets nothing, and old TLS neither."""

import shutil
import socket
import ssl
import subprocess

import httpx
import pytest
from small_service import AVERAGE, PEOPLE

from hartley.service.settings import problems_of, read_settings

OPENSSL = shutil.which("openssl")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(OPENSSL is None, reason="a certificate is made with openssl"),
]


def make_certificate(folder, name):
    """Make a certificate of this machine with its key."""
    words = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1"]
    words += ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem")]
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def trusting(ciphers):
    """Return a client that trusts any certificate and offers these ciphers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(ciphers)
    return context


def shaken(port, context, **options):
    """Return the version of TLS that a handshake agreed on; None if it was refused."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        try:
            with context.wrap_socket(plain, server_hostname="127.0.0.1", **options) as wrapped:
                return wrapped.version()
        except (ssl.SSLError, OSError):
            return None


def test_a_service_with_tls(a_place, serve):
    place = a_place()
    make_certificate(place.folder, "good")
    make_certificate(place.folder, "other")
    config = place.config
    tls = 'tls = { certificate = "good.pem", key = "good.key" }\n'
    config.write_text(config.read_text().replace("[service]\n", f"[service]\n{tls}"))
    assert problems_of(config) == []
    text = config.read_text()
    config.write_text(text.replace("good.key", "other.key"))
    assert "do not fit together" in problems_of(config)[0].problem
    config.write_text(text)
    place.settings = read_settings(config)

    live = serve(place, workers=1)
    port, url = int(live.url.rpartition(":")[2]), live.url
    assert url == f"https://127.0.0.1:{port}"
    trusted = ssl.create_default_context(cafile=str(place.folder / "good.pem"))
    headers = {"Authorization": f"Bearer {place.tokens['ana']}"}
    with httpx.Client(
        base_url=url, verify=trusted, headers=headers, timeout=60, trust_env=False
    ) as api:
        reply = api.post(f"{PEOPLE}/ask", json={"question": AVERAGE, "bits": 2})
        assert reply.json()["bits"] == 2
        assert "max-age" in reply.headers["strict-transport-security"]
        login = api.post("/console/login", data={"token": place.tokens["ana"]})
        assert all("Secure" in cookie for cookie in login.headers.get_list("set-cookie"))
        assert not str(login.headers.get("location", "")).startswith("http")
    with (
        httpx.Client(base_url=url, timeout=60, trust_env=False) as stranger,
        pytest.raises(httpx.ConnectError),
    ):
        stranger.get("/healthz")  # nobody signed the certificate

    # A token that is sent without TLS is not read, and the connection ends without an answer.
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(b"GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n")
        try:
            received = plain.recv(100)
        except OSError:
            received = b""
    assert not received.startswith(b"HTTP")

    assert shaken(port, trusted) == "TLSv1.3"
    old, weak = trusting("ALL:@SECLEVEL=0"), trusting("NULL:aNULL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    weak.maximum_version = ssl.TLSVersion.TLSv1_2
    assert (shaken(port, old), shaken(port, weak)) == (None, None)

    for _ in range(20):  # garbage, and handshakes that are given up
        with socket.create_connection(("127.0.0.1", port), timeout=60) as broken:
            broken.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100)
    assert shaken(port, trusted) == "TLSv1.3"
    assert live.stop() == 0
    assert place.tokens["ana"] not in live.lines()
