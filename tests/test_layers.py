"""Which folder of the package may import which: the order in which a page passes them.

Imports for types and imports inside functions count as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from sources import PACKAGE, ROOT, trees

#: Each imports itself and what is left of it. The package itself names what is public of them all.
ORDER = (
    "durable exceptions loading native signals visible < features < item < text < simhash < keys"
    " < classic < db < index < history < report feed < corpus < spark crawl < cli"
    " < scrapy_simhash __main__"
)
FLOOR = {name: floor for floor, names in enumerate(ORDER.split("<")) for name in names.split()}

FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def folder(module: str) -> str:
    return (module.split(".")[1:] or [module])[0]


class Import(NamedTuple):
    importer: str
    imported: str
    name: str
    is_late: bool  # inside a function

    def __str__(self) -> str:
        importer, imported = (FILES.get(end, end) for end in self[:2])
        return f"{importer} imports {self.name} from {imported}"

    def goes(self, start: str, end: str) -> bool:
        return folder(self.importer) == start != end == folder(self.imported)


def imports_of(module: str) -> Iterator[Import]:
    tree = trees()[FILES[module]]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {n for f in ast.walk(tree) if isinstance(f, functions) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, alias.name, node in late)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{FILES[module]}: imports of this package are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                imported = inner if inner in FILES else str(node.module)
                yield Import(module, imported, alias.name, node in late)


@cache
def imports() -> list[Import]:
    return [one for module in FILES for one in imports_of(module)]


def ours() -> list[Import]:
    return [one for one in imports() if one.imported in FILES]


def listed(found: list[Import]) -> str:
    return "\n".join(map(str, found))


def test_every_folder_has_its_place_in_the_order():
    assert {folder(module) for module in FILES} == FLOOR.keys()


def test_no_folder_imports_one_that_is_not_left_of_it():
    wrong = [
        one
        for one in ours()
        if (low := folder(one.imported)) != (high := folder(one.importer))
        and FLOOR[low] >= FLOOR[high]
    ]
    assert not wrong, listed(wrong)


def test_the_classic_pipeline_is_reached_by_its_name_alone():
    wrong = [one for one in ours() if any(one.goes(name, "classic") for name in FLOOR)]
    assert not wrong, listed(wrong)


def test_one_module_of_a_crawl_imports_the_report_and_late():
    found = [one for one in ours() if one.goes("crawl", "report")]
    assert all(one.is_late for one in found), listed(found)
    assert len({one.importer for one in found}) <= 1, listed(found)


def test_what_is_left_of_the_database_imports_neither_it_nor_scrapy():
    wrong = [
        one
        for one in imports()
        if FLOOR[folder(one.importer)] < FLOOR["db"]
        and one.imported.partition(".")[0] in {"sqlalchemy", "scrapy", "twisted"}
    ]
    assert not wrong, listed(wrong)


def test_no_files_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {module: set() for module in FILES}
    for one in ours():
        graph[one.importer].add(one.imported)
    circle: list[str] = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = error.args[1]
    # It lists each file before those that import it.
    ties = set(zip(circle[1:], circle, strict=False))
    assert not circle, listed([one for one in ours() if one[:2] in ties])
