"""The two case studies of Blazes (section VIII), message by message, each coordinated in several ways: how fast, and what differs then.

Everything costs what :class:`~cumulus_papers.kernel.Costs` says; nothing sleeps but producers that have a rate.
"""

from cumulus_papers.coordinated.ads import AdRegime, AdRun, AdWorkload, run_ads
from cumulus_papers.coordinated.words import WordRegime, WordRun, WordWorkload, run_words

__all__ = ["AdRegime", "AdRun", "AdWorkload", "WordRegime", "WordRun", "WordWorkload", "run_ads", "run_words"]
