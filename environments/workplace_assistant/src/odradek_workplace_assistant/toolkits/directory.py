"""The company's directory of addresses."""

from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.matching import finder
from odradek_workplace_assistant.replies import Refused, told
from odradek_workplace_assistant.toolkits.toolkit import Office, Text, Toolkit


class DirectoryTools(Toolkit):
    """Looking up addresses."""

    @tool
    def company_directory_find_email_address(
        self,
        office: Office,
        name: Annotated[Text, Field(description="A name, or a part of one")] = None,
    ) -> ToolResult:
        """Find the email addresses that contain a name, in whatever case."""
        if not name:
            raise Refused("Name not provided.")
        found = finder(name.lower())
        return told([address for address in self.tables.addresses if found(address)])
