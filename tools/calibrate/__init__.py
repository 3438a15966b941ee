"""The parts of hlo-calibrate."""
