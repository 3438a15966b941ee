"""The parts of hlo-opt."""
