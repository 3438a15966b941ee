"""The parts of hlo-audit."""
