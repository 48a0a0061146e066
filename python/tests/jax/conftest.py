"""Eight devices of the CPU, before anybody imports JAX. The package has to be installed."""

import os
import re

FLAG = "--xla_force_host_platform_device_count"
os.environ["XLA_FLAGS"] = f"{FLAG}=8 " + re.sub(rf"{FLAG}=\d+", "", os.environ.get("XLA_FLAGS", ""))
os.environ["JAX_PLATFORMS"] = "cpu"
