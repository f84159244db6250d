"""The namespace of traced arrays over NumPy, as a module, because the suite needs one."""

import xpand
from xpand_extensions.tracing import traced_namespace

_namespace = traced_namespace(xpand.namespace("numpy"))
globals().update({name: value for name, value in vars(_namespace).items() if not name.startswith("_")})
__array_api_version__ = xpand.namespace("numpy").__array_api_version__
__array_namespace_info__ = _namespace.__array_namespace_info__
