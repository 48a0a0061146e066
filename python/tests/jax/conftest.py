"""Eight devices of the CPU, before anybody imports JAX. The program `retile` or the extension module must be there."""

import os
import re
import sys
from pathlib import Path

FLAG = "--xla_force_host_platform_device_count"
os.environ["XLA_FLAGS"] = f"{FLAG}=8 " + re.sub(rf"{FLAG}=\d+", "", os.environ.get("XLA_FLAGS", ""))
os.environ["JAX_PLATFORMS"] = "cpu"
sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
