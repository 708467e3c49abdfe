"""assay: find the code and documents a task needs, and measure how well that was done."""

__version__ = "0.1.0"
