"""Runs tests one after the other and reports like Rust's test harness."""

import sys
import time
import traceback


def run_tests(group, tests, subject):
    """Calls every test with the subject under test; returns the exit status."""
    failed = 0
    for test in tests:
        start = time.monotonic()
        try:
            test(subject)
            verdict = "ok"
        except Exception:
            traceback.print_exc(file=sys.stdout)
            failed += 1
            verdict = "FAILED"
        print(f"test {group}::{test.__name__} ... {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    verdict = "FAILED" if failed else "ok"
    print(f"test result: {verdict}. {len(tests) - failed} passed; {failed} failed; 0 ignored", flush=True)
    return 1 if failed else 0
