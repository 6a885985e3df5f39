"""Mistakes that the sources themselves show."""

from __future__ import annotations

import ast
from collections import Counter

from sources import ROOT, trees


class TestNames:
    def test_no_class_has_the_name_of_a_different_one(self):
        names = Counter(
            node.name
            for tree in trees().values()
            for node in tree.body
            if isinstance(node, ast.ClassDef)
        )
        assert [name for name, count in names.items() if count > 1] == []

    def test_constants_stand_one_a_line(self):
        paired = [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for path, tree in trees().items()
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and isinstance(node.value.elts[0], ast.Constant)
        ]
        assert paired == []


#: What one file, class or function may have, in lines.
FILE, CLASS, FUNCTION = 400, 250, 60


class TestSizes:
    """A file, a class or a function fits into the head of who reads it."""

    def test_no_file_class_or_function_is_longer_than_it_may_be(self):
        long = []
        for path, tree in trees().items():
            length = path.read_text("utf-8").count("\n")
            if length > FILE:
                long.append(f"{path.relative_to(ROOT)}: {length} lines")
            for node in ast.walk(tree):
                allowed = CLASS if isinstance(node, ast.ClassDef) else FUNCTION
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    length = (node.end_lineno or 0) - node.lineno + 1
                    if length > allowed:
                        place = f"{path.relative_to(ROOT)}:{node.lineno}"
                        long.append(f"{place}: {node.name}: {length} lines")
        assert not long, "\n".join(long)
