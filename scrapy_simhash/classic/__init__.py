"""SimHash as the literature teaches it: segmentation, weights, keywords, and all hashes.

The rest of the package does not import it: `load_scheme("keywords")` finds it by name.
"""
