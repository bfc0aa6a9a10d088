"""Valid hosts, which the document cannot express as a pattern."""

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
