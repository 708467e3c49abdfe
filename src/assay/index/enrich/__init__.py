"""Facts about items from outside the code: compilers, language servers, traces of running services, project files.

`statements.py` is the step of the pipeline that reads manifests, deployment and ownership files.
"""
