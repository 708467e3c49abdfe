"""placeholder"""
import re
_T=re.compile(r"(^|/)(tests?|spec|specs|testing|testdata|__tests__|[\w.]*(Unit|Acceptance|Integration)?Tests)/|(^|/)test_[^/]*$|(_test|_spec|\.test|\.spec|Tests?)\.\w+$|(^|/)conftest\.py$")
def is_test_path(p): return bool(_T.search(p))
