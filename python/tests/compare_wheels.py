"""Two wheels must hold the same package: python compare_wheels.py ONE TWO."""

import email
import sys
import zipfile

# Where the licences and the description lie is the only difference allowed.
APART = {"License-File", "Description-Content-Type"}


def contents(path: str) -> tuple[list[tuple[str, str]], dict[str, int]]:
    with zipfile.ZipFile(path) as wheel:
        [metadata] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        fields = email.message_from_bytes(wheel.read(metadata)).items()
        modules = {
            i.filename: i.file_size
            for i in wheel.infolist()
            if i.filename.endswith((".py", ".pyi", ".typed"))
        }
        return [field for field in fields if field[0] not in APART], modules


one, two = map(contents, sys.argv[1:])
assert one == two, f"{sys.argv[1]} and {sys.argv[2]} differ: {one} {two}"
assert "cbo/py.typed" in one[1] and "cbo/_lib.pyi" in one[1]
