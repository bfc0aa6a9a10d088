"""Valid hosts, which the document cannot express as a pattern, and requests for no group."""

import re

import schemathesis
from hypothesis import strategies as st
from hypothesis.provisional import domains

MAX_BYTES = 2048

hosts = st.one_of(
    domains(max_length=60),
    st.sampled_from(["bücher.example", "192.0.2.1", "[2001:db8::1]", "Example.ORG.", "xn--bcher-kva.example"]),
)
ports = st.one_of(st.just(""), st.integers(1, 65535).map(":{}".format))
visible = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]), max_size=200)
tails = st.one_of(st.just(""), st.tuples(st.sampled_from("/?#"), visible).map("".join))
urls = st.tuples(st.sampled_from(["http://", "https://", "HTTPS://", "hTTp://"]), hosts, ports, tails).map("".join)

schemathesis.openapi.format("url", urls.filter(lambda url: len(url.encode()) <= MAX_BYTES))


@schemathesis.hook
def map_headers(context, headers):
    """Leaves out a valid number of a group, which would be that of no group, and would make each request a 404."""
    is_valid = headers and re.fullmatch("[0-9]+", str(headers.get("Shunt-Group", "")))
    return {name: value for name, value in headers.items() if name != "Shunt-Group"} if is_valid else headers
