"""Small runs have all encodings here, which otherwise only larger ones have."""

from collections.abc import Iterator

import pytest

from cumulus_ops.maps import encodings


@pytest.fixture(autouse=True, scope="module")
def no_run_is_small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "FEW", 32)
        patch.setattr(encodings, "FEW_TEXTS", 0)
        yield
