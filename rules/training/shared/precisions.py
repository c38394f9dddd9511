"""Number formats that a closed run may disclose as its lowest precision."""

PRECISIONS = (
    "fp64",
    "fp32",
    "tf32",
    "fp16",
    "fp8",
    "nvfp4",
    "mxfp4",
    "bfloat16",
    "Graphcore FLOAT 16.16",
    "int8",
    "uint8",
    "int4",
    "uint4",
)
"""Pre-approved formats as of 5.1 (training rules, Numerical formats)."""

MXFP6 = "mxfp6"
"""Pre-approved as of 6.1 (training rules, v6.1 Specific Rules, September 2026)."""
