"""WHAT IS PROMISED: certificates, recomputed from the finished policy."""
