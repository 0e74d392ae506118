"""How the weights that were tuned on a collection are written down among its settings."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from types import MappingProxyType

from retrieval_server.model import FusionOverrides, Profile


def fusion_to_text(setting_of: Mapping[Profile, FusionOverrides]) -> str:
    """Return the setting's text; what sets nothing is left out."""
    plain = {
        profile.value: {name: value for name, value in asdict(setting).items() if value is not None}
        for profile, setting in setting_of.items()
    }
    return json.dumps({profile: setting for profile, setting in plain.items() if setting})


@lru_cache
def fusion_from_text(text: str | None) -> Mapping[Profile, FusionOverrides]:
    """Return what `fusion_to_text` wrote. Every commit asks for it.

    Raises TypeError or ValueError for what no version up to this one wrote.
    """
    plain = json.loads(text or "{}")
    return MappingProxyType({Profile(profile): FusionOverrides(**setting) for profile, setting in plain.items()})
