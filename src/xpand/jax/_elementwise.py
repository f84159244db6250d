"""Complex elementwise functions whose special values JAX gets wrong."""

from ._complex import mended, sign

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

exp = mended("exp")
expm1 = mended("expm1")
log = mended("log")
log1p = mended("log1p")
sqrt = mended("sqrt")
sin = mended("sin", "odd")
cos = mended("cos", "even")
tan = mended("tan", "odd")
sinh = mended("sinh", "odd")
cosh = mended("cosh", "even")
tanh = mended("tanh", "odd")
asin = arcsin = mended("asin", "odd")
acos = arccos = mended("acos")
atan = arctan = mended("atan", "odd")
asinh = arcsinh = mended("asinh", "odd")
acosh = arccosh = mended("acosh")
atanh = arctanh = mended("atanh", "odd")
