"""Let the tests of this folder import the module random_questions beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
