"""The entries of rules for derivatives: see `extend._derivatives`."""

from ..extend._derivatives import LINEAR as LINEAR
from ..extend._derivatives import First as First
from ..extend._derivatives import contribution as contribution
from ..extend._derivatives import factor as factor
from ..extend._derivatives import joint as joint
from ..extend._derivatives import scale as scale
