"""How objects of the core group become rows of a ``Table``."""
