#!/usr/bin/env bash
# pandas' isin takes bytes that end with zeros for shorter ones: b"a\x00" is not found, and b"a" is found in its place.
#
# Versions: pandas 2.3.3; numpy 2.4.6; pyarrow 26.0.1; Polars 2.1.0.
# Expected: isin holds for the elements that equal one of the values, as == says. Python, pyarrow and Polars compare whole bytes.
# Seen: pandas makes a numpy array of the list of values, which gets a type of fixed width ('S2'), whose values lose the zeros at their end.
#   Series([b"a\x00", b"a"]).isin([b"a\x00"]) is [False, True]; a series is not found in its own values. With ArrowDtype the same are lost.
# Matters: RAW(16) keys of SYS_GUID(): one in 256 ends with 00. df[df.ID.isin(ids)] and df.query("ID in @ids") lose these rows, or return the rows of
#   other keys, without an error; == and merge are right.
# Workaround: pass an object array, isin(numpy.array(ids, dtype=object)); or filter in pyarrow (pc.is_in) or Polars before pandas.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
packages=(pandas==2.3.3 numpy==2.4.6 pyarrow==26.0.1 polars==2.1.0)
if command -v uv >/dev/null; then
    uv pip install --quiet --python venv/bin/python "${packages[@]}"
else
    venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}"
fi
venv/bin/python - <<'PYTHON'
import numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc

guid = bytes.fromhex("00112233445566778899aabbccddee00")
keys = [guid, guid[:-1], b"a\x00", b"a"]
found = {}
for name, series in {"object": pd.Series(keys), "ArrowDtype": pd.Series(keys, dtype=pd.ArrowDtype(pa.binary()))}.items():
    found[name] = {
        "== guid": (series == guid).tolist(),
        "isin([guid])": series.isin([guid]).tolist(),
        "isin of its own values": series.isin(list(keys)).tolist(),
        "isin of an object array": series.isin(np.array([guid], dtype=object)).tolist(),
    }
others = {
    "pyarrow": pc.is_in(pa.array(keys), value_set=pa.array([guid])).to_pylist(),
    "Polars": pl.Series(keys).is_in([guid]).to_list(),
}
merged = pd.DataFrame({"k": keys}).merge(pd.DataFrame({"k": [guid]}), on="k")["k"].tolist()
print(found, others, "merge", merged == [guid])
right = [True, False, False, False]
assert others == {"pyarrow": right, "Polars": right} and merged == [guid]
for of in found.values():
    assert of["== guid"] == right
    assert not of["isin([guid])"][0] and not of["isin of its own values"][0]
    assert of["isin of an object array"] == right
assert found["object"]["isin([guid])"] == [False, True, False, False]
print("SEEN: isin([16 bytes that end with 00]) is False for them, and True for the 15 bytes in front; == is right")
PYTHON
