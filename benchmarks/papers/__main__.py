"""`python -m benchmarks.papers [NAME ...]`: run the papers' benchmarks, and write their page."""

from importlib import import_module

from benchmarks.papers.harness import page
from benchmarks.report import RESULTS

NAMES = (
    "headlines",
    "skegd_irs.table2",
    "skegd_irs.table3",
    "skegd_irs.figure3",
    "skegd_irs.table4",
    "nolana_oana.table1",
    "nolana_oana.figure1",
    "nolana_oana.figure2",
    "nolana_oana.figure3",
    "nolana_oana.table2",
    "oks_sil.table2",
    "oks_sil.figure1",
    "kons_kors.regret",
    "kons_kors.dictionary",
    "kons_kors.sketched_regret",
)

if __name__ == "__main__":
    modules = {name: import_module(f"benchmarks.papers.{name}") for name in NAMES}
    page({name: module.sections for name, module in modules.items()}, RESULTS / "papers.md")
