"""Many runs, one after another: suites, searches and comparisons of runs are series with a question of their own.

    with Series(place, answer, console) as series:
        series.execute()                  # every planned run that is not finished
        manifest = series.run(planned)    # or one at a time, if the next one depends on the last

`record.json` (lab/series/answer.py) holds the plan and its finished runs. It is written before and after each run, so a
series that was interrupted at any moment can be continued.
"""

from lab.series.answer import Answer, PlannedRun, find_incomplete, make_answer
from lab.series.execute import Place, Series, find_to_resume

__all__ = ["Answer", "Place", "PlannedRun", "Series", "find_incomplete", "find_to_resume", "make_answer"]
