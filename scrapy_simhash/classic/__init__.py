"""SimHash as the literature describes it: segmentation, weights, keywords and hashes.

The rest of the package does not import it: `load_scheme("keywords")` finds it by name.
"""

from scrapy_simhash.classic.scheme import fingerprint_features, within
from scrapy_simhash.simhash.shingles import bit_sums

__all__ = ["bit_sums", "fingerprint_features", "within"]
