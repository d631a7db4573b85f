"""`lab doctor`: each runtime's checks, and the command that installs what is missing."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from lab.runtime.select import RUNTIMES, default_name, runtime_class


def print_checks(console: Console) -> int:
    """Print every check; return 0 if at least one runtime can work, else 1."""
    able = []
    for name in RUNTIMES:
        checks = runtime_class(name).checks()
        ready = all(check.ok or not check.required for check in checks)
        if ready:
            able.append(name)
        state = ("ready", "bold green") if ready else ("not ready", "bold red")
        console.print(Text.assemble((f"{name}: ", "bold"), state))
        for check in checks:
            mark = ("✓", "green") if check.ok else (("✗", "red") if check.required else ("–", "yellow"))
            console.print(Text.assemble("  ", mark, f" {check.name:<22} ", (check.detail, "dim")), soft_wrap=True)
            if not check.ok and check.command:
                console.print(Text(f"      {check.command}", style="bold"), soft_wrap=True, highlight=False)
    if able:
        console.print(f"Experiments run here: {' and '.join(able)}.", highlight=False)
        name, why = default_name()
        because = f", because {why}" if why else ""
        console.print(f"Without RUNTIME, they run in: {name}{because}.", soft_wrap=True, highlight=False)
        return 0
    console.print("No runtime can work yet. The commands above install what is missing.", highlight=False)
    return 1
