"""The answers behind `opscope inspect`, right and as the official tool has them."""
