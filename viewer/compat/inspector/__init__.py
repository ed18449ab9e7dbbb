"""The tables behind `opscope inspect`: corrected, and as the official tool prints them."""
