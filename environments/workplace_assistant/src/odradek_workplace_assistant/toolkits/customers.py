"""The customers, in the customer relationship manager."""

from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.matching import containing
from odradek_workplace_assistant.replies import Refused, paged, told
from odradek_workplace_assistant.tables import Row
from odradek_workplace_assistant.toolkits.toolkit import Number, Office, Text, Toolkit

_ID_DIGITS = 8
_CHOICES = {
    "status": ("Status", ("Qualified", "Won", "Lost", "Lead", "Proposal")),
    "product_interest": (
        "Product interest",
        ("Software", "Hardware", "Services", "Consulting", "Training"),
    ),
}
_ADDRESSES = ("customer_email", "assigned_to_email")
_SETTABLE = (
    "customer_name",
    "assigned_to_email",
    "customer_email",
    "customer_phone",
    "last_contact_date",
    "product_interest",
    "status",
    "notes",
    "follow_up_by",
)

CustomerId = Annotated[str, Field(description="The customer's ID")]


class CustomerTools(Toolkit):
    """Searching, changing, adding and deleting customers."""

    @tool
    def customer_relationship_manager_search_customers(
        self,
        office: Office,
        customer_name: Annotated[Text, Field(description="What is in the customer's name")] = None,
        customer_email: Annotated[Text, Field(description="What is in the customer's email address")] = None,
        product_interest: Annotated[Text, Field(description="The product of interest")] = None,
        status: Annotated[Text, Field(description="The status")] = None,
        assigned_to_email: Annotated[
            Text, Field(description="What is in the address of who the customer is assigned to")
        ] = None,
        last_contact_date_min: Annotated[Text, Field(description="Earliest last contact, YYYY-MM-DD")] = None,
        last_contact_date_max: Annotated[Text, Field(description="Latest last contact, YYYY-MM-DD")] = None,
        follow_up_by_min: Annotated[Text, Field(description="Earliest follow-up, YYYY-MM-DD")] = None,
        follow_up_by_max: Annotated[Text, Field(description="Latest follow-up, YYYY-MM-DD")] = None,
        page: Annotated[Number, Field(description="Which page of the results")] = 1,
        page_size: Annotated[Number, Field(description="Customers on a page")] = 5,
    ) -> ToolResult:
        """Search customers; each thing that is given must fit."""
        patterns = {
            "customer_name": customer_name,
            "customer_email": customer_email,
            "product_interest": product_interest,
            "status": status,
            "assigned_to_email": assigned_to_email,
        }
        ranges = {
            "last_contact_date": (last_contact_date_min, last_contact_date_max),
            "follow_up_by": (follow_up_by_min, follow_up_by_max),
        }
        if not any(patterns.values()) and not any(map(any, ranges.values())):
            raise Refused("No search parameters provided. Please provide at least one parameter.")
        found = self.sheet(office, "customer_relationship_manager").rows()
        for column, pattern in patterns.items():
            if pattern:
                found = containing(found, column, pattern)
        for column, (first, last) in ranges.items():
            found = [customer for customer in found if _within(customer, column, first, last)]
        if not found:
            return told("No customers found.")
        return told(paged("customers", found, page, page_size))

    @tool
    def customer_relationship_manager_update_customer(
        self,
        office: Office,
        customer_id: CustomerId,
        field: Annotated[
            str,
            Field(
                description="The field to set: 'customer_name', 'assigned_to_email', 'customer_email', "
                "'customer_phone', 'last_contact_date', 'product_interest', 'status', 'notes' or 'follow_up_by'"
            ),
        ],
        new_value: Annotated[str, Field(description="What the field shall be")],
    ) -> ToolResult:
        """Set one field of a customer."""
        if not customer_id or not field or not new_value:
            raise Refused("Customer ID, field, or new value not provided.")
        if field in _CHOICES:
            _check_choice(field, new_value)
        sheet = self.desk(office, "customer_relationship_manager")
        if sheet.find(customer_id) is None:
            raise Refused("Customer not found.")
        if field not in sheet.table.header:
            raise Refused(f"Field not valid. Please choose from: {', '.join(map(repr, _SETTABLE))}")
        sheet.update(customer_id, field, new_value.lower() if field in _ADDRESSES else new_value)
        return told("Customer updated successfully.")

    @tool
    def customer_relationship_manager_add_customer(
        self,
        office: Office,
        customer_name: Annotated[str, Field(description="The customer's name")],
        assigned_to_email: Annotated[
            str, Field(description="Email address of who the customer is assigned to")
        ],
        status: Annotated[
            str, Field(description="The status: 'Qualified', 'Won', 'Lost', 'Lead' or 'Proposal'")
        ],
        customer_email: Annotated[Text, Field(description="The customer's email address")] = None,
        customer_phone: Annotated[Text, Field(description="The customer's phone number")] = None,
        last_contact_date: Annotated[Text, Field(description="The last contact, YYYY-MM-DD")] = None,
        product_interest: Annotated[
            Text,
            Field(
                description="The product of interest: 'Software', 'Hardware', 'Services', 'Consulting' or 'Training'"
            ),
        ] = None,
        notes: Annotated[Text, Field(description="Notes on the customer")] = None,
        follow_up_by: Annotated[Text, Field(description="When to follow up, YYYY-MM-DD")] = None,
    ) -> ToolResult:
        """Add a customer; tells the ID."""
        if not all([customer_name, assigned_to_email, status]):
            raise Refused("Please provide all required fields: customer_name, assigned_to_email, status.")
        sheet = self.desk(office, "customer_relationship_manager")
        customer_id = sheet.next_id(_ID_DIGITS)
        sheet.append(
            {
                "customer_id": customer_id,
                "customer_name": customer_name,
                "customer_email": customer_email.lower() if customer_email else customer_email,
                "customer_phone": customer_phone,
                "last_contact_date": last_contact_date,
                "product_interest": product_interest,
                "status": status,
                "assigned_to_email": assigned_to_email.lower(),
                "notes": notes or "",
                "follow_up_by": follow_up_by,
            }
        )
        return told(customer_id)

    @tool
    def customer_relationship_manager_delete_customer(
        self, office: Office, customer_id: CustomerId
    ) -> ToolResult:
        """Delete a customer."""
        if not customer_id:
            raise Refused("Customer ID not provided.")
        if not self.desk(office, "customer_relationship_manager").remove(customer_id):
            raise Refused("Customer not found.")
        return told("Customer deleted successfully.")


def _check_choice(field: str, value: str) -> None:
    what, choices = _CHOICES[field]
    if value not in choices:
        raise Refused(f"{what} not valid. Please choose from: {', '.join(map(repr, choices))}")


def _within(customer: Row, column: str, first: str | None, last: str | None) -> bool:
    """Compared as texts, as ISO dates may be; an empty cell is in no range."""
    if not first and not last:
        return True
    cell = customer[column]
    return cell is not None and (not first or cell >= first) and (not last or cell <= last)
