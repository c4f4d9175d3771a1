"""Judged queries, metrics and comparisons: the ruler that ranking choices are measured with."""
