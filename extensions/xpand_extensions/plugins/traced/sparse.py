"""Products of sparse matrices whose values are traced: entry by entry, for which there are derivatives."""

from ...generic.sparse import coo_product as coo_product
