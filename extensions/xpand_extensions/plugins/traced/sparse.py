"""Products of sparse matrices whose values are traced: entry by entry, for which there are derivatives."""

from ...generic.sparse._products import coo_product as coo_product
