"""Estimators for scikit-learn, each written once for all array libraries.

They are what scikit-learn expects of an estimator (`check_estimator` passes), and compute with the library, and on the
device, of the arrays that they are given: NumPy, PyTorch, JAX, CuPy, Dask and any other that follows the standard. What
is fitted (`coef_`, `components_`, …) stays there too, and so does what is predicted.

On Dask, `PCA`, `Ridge` and `KMeans` compute nothing before they are asked to; `LogisticRegression` has to see the
labels once, in `fit`, because the number of classes decides the shape of all that follows. On a lazy array an iteration
can't be stopped early, since that would take a look at the values: it runs for all of `max_iter` steps.

In a `Pipeline` or a `GridSearchCV`, scikit-learn handles the arrays too: on other libraries than NumPy, switch on its
support with `sklearn.config_context(array_api_dispatch=True)`, as `select_model.py` beside this package does.

>>> import numpy as np
>>> from estimators import Ridge
>>> x = np.asarray([[0.0], [1.0], [2.0]])
>>> Ridge(alpha=0.0).fit(x, np.asarray([1.0, 3.0, 5.0])).predict(np.asarray([[3.0]]))
array([7.])
"""

from .kmeans import KMeans
from .logistic import LogisticRegression
from .pca import PCA
from .ridge import Ridge

__all__ = ["PCA", "KMeans", "LogisticRegression", "Ridge"]
