"""Feature flag libraries."""

from __future__ import annotations

from assay.languages.frameworks import FlagLibrary

_JS = ("javascript", "typescript", "tsx")
_KINDS = ("Boolean", "String", "Number", "Object", "Integer", "Float", "Double")

OPENFEATURE = FlagLibrary(
    "OpenFeature",
    calls={
        **{f"get{kind}Value": 0 for kind in _KINDS},
        **{f"get{kind}Details": 0 for kind in _KINDS},
        **{f"Get{kind}ValueAsync": 0 for kind in _KINDS},
        **{f"Get{kind}DetailsAsync": 0 for kind in _KINDS},
        **{f"get_{kind.lower()}_value": 0 for kind in _KINDS},
        **{f"get_{kind.lower()}_details": 0 for kind in _KINDS},
        **{f"fetch_{kind.lower()}_value": 0 for kind in _KINDS},
        **{f"use{kind}FlagValue": 0 for kind in _KINDS},
        **{f"use{kind}FlagDetails": 0 for kind in _KINDS},
        **{f"{kind}Value": 1 for kind in ("Boolean", "String", "Int", "Float", "Object")},
        **{f"{kind}ValueDetails": 1 for kind in ("Boolean", "String", "Int", "Float", "Object")},
    },
    hints=("feature", "flag", "client", "provider", "use"),
)
LAUNCHDARKLY = FlagLibrary(
    "LaunchDarkly",
    calls={
        **dict.fromkeys(("variation", "variation_detail", "variationDetail"), 0),
        **{f"{kind}Variation": 0 for kind in ("bool", "string", "int", "double", "jsonValue", "json", "number")},
        **{f"{kind}VariationDetail": 0 for kind in ("bool", "string", "int", "double", "jsonValue", "json", "number")},
        **{f"{kind}Variation": 0 for kind in ("Bool", "String", "Int", "Float64", "Double", "Float", "Json", "JSON")},
        **{f"{kind}_variation": 0 for kind in ("bool", "string", "int", "float", "json", "str")},
    },
)
UNLEASH = FlagLibrary(
    "Unleash and toggles",
    calls={
        **dict.fromkeys(
            ("isEnabled", "IsEnabled", "is_enabled", "is_enabled?", "isFeatureEnabled", "IsEnabledAsync"), 0
        ),
        **dict.fromkeys(("getVariant", "get_variant", "GetVariant"), 0),
        **dict.fromkeys(("is_active", "enabled?", "isActive", "is_on", "isOn"), 0),
        "has": 0,
    },
    hints=("unleash", "feature", "flag", "toggle", "flipper", "experiment"),
)
FLIPPER = FlagLibrary(
    "Flipper",
    ("ruby",),
    calls={"Flipper.enabled?": 0, "Feature.enabled?": 0, "Feature.disabled?": 0},
    lookups=frozenset({"Flipper"}),
)
SETTINGS = FlagLibrary(
    "settings and helpers",
    calls=dict.fromkeys((
        "feature_enabled", "feature_enabled?", "featureEnabled", "is_feature_enabled", "isFeatureEnabled",
        "IsFeatureEnabled", "is_flag_enabled", "isFlagEnabled", "flag_enabled", "flag_enabled?",
        "useFeatureFlag", "useFlag", "useFeature", "useFeatureFlagEnabled", "useFlagEnabled",
        "switch_is_active", "sample_is_active", "FEATURES.get", "FEATURE_FLAGS.get",
    ), 0),
    decorators=frozenset({"waffle_flag", "waffle_switch", "feature_required", "FeatureGate", "feature_flag"}),
    lookups=frozenset({"FEATURES", "FEATURE_FLAGS", "featureFlags", "feature_flags"}),
    constants=("settings.FEATURE_", "config.FEATURE_", "Settings.FEATURE_"),
)  # fmt: skip
WAFFLE = FlagLibrary("waffle", ("python",), calls={"flag_is_active": 1})
BARE = FlagLibrary("bare helpers", ("python",), calls={"is_enabled": 0}, bare=True)
FLAGS = (OPENFEATURE, LAUNCHDARKLY, UNLEASH, FLIPPER, SETTINGS, WAFFLE, BARE)
