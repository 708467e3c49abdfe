"""Web pages: functions from request parameters to markup, sharing elements, plots and style with the reports."""

from __future__ import annotations
