"""The demonstration: one text over one failing link, adaptive and fixed, side by side."""
