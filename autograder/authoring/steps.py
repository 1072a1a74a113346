"""Our own step in making the students' notebooks; nbgrader_config.py names it among nbgrader's."""

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade


class RunOn(NbGraderPreprocessor):
    """Let "Run All" go on after a check that fails, so that every exercise says how it stands.

    Without the tag a kernel throws away all cells that wait when one raises.
    """

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        if cell.cell_type == "code" and is_grade(cell):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        return cell, resources
