"""Products of sparse matrices with traced values: entry by entry, for which there are derivatives."""

from ...generic.sparse import coo_product as coo_product
