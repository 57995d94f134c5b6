"""A shop: a join of three tables whose rows come at any coordinator, so that what one applies, another may have to correct."""

from benchmarks.experiments.shop.project import shop_project
from benchmarks.experiments.shop.running import Pass, Run, Settings, run_shop
from benchmarks.experiments.shop.stories import Stories

__all__ = ["Pass", "Run", "Settings", "Stories", "run_shop", "shop_project"]
