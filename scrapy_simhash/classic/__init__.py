"""SimHash as it is taught: segmentation, weights, keywords, and every hash.

Nobody needs it to understand the plugin, and nothing imports it: `load_scheme("keywords")` reaches
it by name.
"""
