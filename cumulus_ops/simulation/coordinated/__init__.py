"""The two case studies of Blazes (section VIII), message by message, each coordinated in several ways: how fast, and what differs then.

Everything costs what :class:`~cumulus_ops.simulation.kernel.Costs` says; nothing sleeps but producers that have a rate.
"""

from cumulus_ops.simulation.coordinated.ad_workload import AdRegime, AdWorkload
from cumulus_ops.simulation.coordinated.ads import AdRun, run_ads
from cumulus_ops.simulation.coordinated.words import WordRegime, WordRun, WordWorkload, run_words

__all__ = ["AdRegime", "AdRun", "AdWorkload", "WordRegime", "WordRun", "WordWorkload", "run_ads", "run_words"]
