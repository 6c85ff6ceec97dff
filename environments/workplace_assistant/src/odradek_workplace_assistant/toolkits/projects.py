"""The project board."""

import re
from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.matching import containing
from odradek_workplace_assistant.replies import Refused, told
from odradek_workplace_assistant.sheet import Sheet
from odradek_workplace_assistant.toolkits.toolkit import Office, Text, Toolkit

_ID_DIGITS = 8
_ADDRESS = re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}")
_CHOICES = {
    "list_name": ("List", ("Backlog", "In Progress", "In Review", "Completed")),
    "board": ("Board", ("Back end", "Front end", "Design")),
}

TaskId = Annotated[str, Field(description="The task's ID of 8 digits")]


class ProjectTools(Toolkit):
    """Reading, searching, creating, changing and deleting tasks."""

    @tool
    def project_management_get_task_information_by_id(
        self,
        office: Office,
        task_id: TaskId,
        field: Annotated[
            str,
            Field(
                description="The field to read: 'task_id', 'task_name', 'assigned_to_email', 'list_name', "
                "'due_date' or 'board'"
            ),
        ],
    ) -> ToolResult:
        """Read one field of a task."""
        if not task_id:
            raise Refused("Task ID not provided.")
        if not field:
            raise Refused("Field not provided.")
        task = self.sheet(office, "project_management").find(task_id)
        if task is None:
            raise Refused("Task not found.")
        if field not in task:
            raise Refused("Field not found.")
        return told({field: task[field]})

    @tool
    def project_management_search_tasks(
        self,
        office: Office,
        task_name: Annotated[Text, Field(description="What is in the task's name")] = None,
        assigned_to_email: Annotated[
            Text, Field(description="Email address of who it is assigned to")
        ] = None,
        list_name: Annotated[Text, Field(description="What is in the list's name")] = None,
        due_date: Annotated[Text, Field(description="When it is due, YYYY-MM-DD")] = None,
        board: Annotated[Text, Field(description="What is in the board's name")] = None,
    ) -> ToolResult:
        """Search tasks; each thing that is given must fit."""
        given = {"task_name": task_name, "list_name": list_name, "due_date": due_date, "board": board}
        if not assigned_to_email and not any(given.values()):
            raise Refused("No search parameters provided.")
        tasks = self.sheet(office, "project_management").rows()
        if assigned_to_email:
            if not _ADDRESS.fullmatch(assigned_to_email):
                raise Refused("Invalid email format for assigned_to_email.")
            assignee = assigned_to_email.lower()
            tasks = [task for task in tasks if (task["assigned_to_email"] or "").lower() == assignee]
        for column, pattern in given.items():
            if pattern:
                tasks = containing(tasks, column, pattern)
        return told(tasks)

    @tool
    def project_management_create_task(
        self,
        office: Office,
        task_name: Annotated[str, Field(description="The task's name")],
        assigned_to_email: Annotated[str, Field(description="Email address of who it is assigned to")],
        list_name: Annotated[
            str, Field(description="Its list: 'Backlog', 'In Progress', 'In Review' or 'Completed'")
        ],
        due_date: Annotated[str, Field(description="When it is due, YYYY-MM-DD")],
        board: Annotated[str, Field(description="Its board: 'Back end', 'Front end' or 'Design'")],
    ) -> ToolResult:
        """Create a task; tells its ID."""
        if not all([task_name, assigned_to_email, list_name, due_date, board]):
            raise Refused("Missing task details.")
        sheet = self.desk(office, "project_management")
        assignee = assigned_to_email.lower()
        _check_assignee(sheet, assignee)
        _check_choice("list_name", list_name)
        _check_choice("board", board)
        task_id = sheet.next_id(_ID_DIGITS)
        sheet.append(
            {
                "task_id": task_id,
                "task_name": task_name,
                "assigned_to_email": assignee,
                "list_name": list_name,
                "due_date": due_date,
                "board": board,
            }
        )
        return told(task_id)

    @tool
    def project_management_delete_task(self, office: Office, task_id: TaskId) -> ToolResult:
        """Delete a task."""
        if not task_id:
            raise Refused("Task ID not provided.")
        if not self.desk(office, "project_management").remove(task_id):
            raise Refused("Task not found.")
        return told("Task deleted successfully.")

    @tool
    def project_management_update_task(
        self,
        office: Office,
        task_id: TaskId,
        field: Annotated[
            str,
            Field(
                description="The field to set: 'task_name', 'assigned_to_email', 'list_name', 'due_date' or 'board'"
            ),
        ],
        new_value: Annotated[str, Field(description="What the field shall be")],
    ) -> ToolResult:
        """Set one field of a task."""
        if not task_id or not field or not new_value:
            raise Refused("Task ID, field, or new value not provided.")
        sheet = self.desk(office, "project_management")
        value = new_value.lower() if field == "assigned_to_email" else new_value
        if field in _CHOICES:
            _check_choice(field, value)
        if field == "assigned_to_email":
            _check_assignee(sheet, value)
        if sheet.find(task_id) is None:
            raise Refused("Task not found.")
        if field not in sheet.table.header:
            raise Refused("Field not valid.")
        sheet.update(task_id, field, value)
        return told("Task updated successfully.")


def _check_choice(field: str, value: str) -> None:
    what, choices = _CHOICES[field]
    if value not in choices:
        raise Refused(f"{what} not valid. Please choose from: {', '.join(map(repr, choices))}.")


def _check_assignee(sheet: Sheet, address: str) -> None:
    """Tasks go to those who have some."""
    if all((task["assigned_to_email"] or "").lower() != address for task in sheet.rows()):
        raise Refused("Assignee email not valid. Please choose from the list of team members.")
