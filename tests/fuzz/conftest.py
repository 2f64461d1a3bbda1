"""The fuzzer is a program of its own, which test_fuzz.py starts."""

collect_ignore = ["documents.py", "fuzzer.py", "mutations.py", "readers.py"]
