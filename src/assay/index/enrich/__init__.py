"""Facts about items from outside the code: compilers, language servers, traces of running services."""
