"""The mailbox."""

from datetime import date
from typing import Annotated

from pydantic import Field

from odradek import ToolResult, tool
from odradek_workplace_assistant.matching import moment
from odradek_workplace_assistant.replies import Refused, paged, told
from odradek_workplace_assistant.sheet import Sheet
from odradek_workplace_assistant.tables import Row
from odradek_workplace_assistant.toolkits.toolkit import Number, Office, Text, Toolkit

NOW = "2023-11-30 23:59:00"
"""When everything happens: the time at which emails are sent."""

EmailId = Annotated[str, Field(description="The email's ID")]
Body = Annotated[str, Field(description="The text of the email")]
Recipient = Annotated[str, Field(description="Email address of the recipient")]


class EmailTools(Toolkit):
    """Reading, searching, sending and deleting emails."""

    @tool
    def email_get_email_information_by_id(
        self,
        office: Office,
        email_id: EmailId,
        field: Annotated[
            str,
            Field(
                description="The field to read: 'email_id', 'inbox/outbox', 'sender/recipient', 'subject', "
                "'sent_datetime' or 'body'"
            ),
        ],
    ) -> ToolResult:
        """Read one field of an email."""
        if not email_id:
            raise Refused("Email ID not provided.")
        if not field:
            raise Refused("Field not provided.")
        email = _found(self.sheet(office, "email"), email_id)
        if field not in email:
            raise Refused(f"Field '{field}' not found. Available fields: {', '.join(email)}")
        return told({field: email[field]})

    @tool
    def email_search_emails(
        self,
        office: Office,
        query: Annotated[
            Text,
            Field(description="Words that must all be in the subject, the body, the sender or recipient"),
        ] = None,
        date_min: Annotated[Text, Field(description="First day on which it was sent, YYYY-MM-DD")] = None,
        date_max: Annotated[Text, Field(description="Last day on which it was sent, YYYY-MM-DD")] = None,
        page: Annotated[Number, Field(description="Which page of the results")] = 1,
        page_size: Annotated[Number, Field(description="Emails on a page")] = 5,
    ) -> ToolResult:
        """Search emails by words and days, the newest first."""
        words = (query or "").lower().split()
        first, last = _day(date_min), _day(date_max)
        found = [
            email
            for email in self.sheet(office, "email").rows()
            if _holds(email, words) and _sent_within(email, first, last)
        ]
        found.sort(key=lambda email: email["sent_datetime"] or "", reverse=True)
        if not found:
            return told("No emails found.")
        return told(paged("emails", found, page, page_size))

    @tool
    def email_send_email(
        self,
        office: Office,
        recipient: Recipient,
        subject: Annotated[str, Field(description="The subject")],
        body: Body,
    ) -> ToolResult:
        """Send an email."""
        _send(self.desk(office, "email"), recipient, subject, body)
        return told("Email sent successfully.")

    @tool
    def email_delete_email(self, office: Office, email_id: EmailId) -> ToolResult:
        """Delete an email."""
        if not email_id:
            raise Refused("Email ID not provided.")
        if not self.desk(office, "email").remove(email_id):
            raise Refused("Email not found.")
        return told("Email deleted successfully.")

    @tool
    def email_forward_email(self, office: Office, email_id: EmailId, recipient: Recipient) -> ToolResult:
        """Forward an email."""
        if not email_id or not recipient:
            raise Refused("Email ID or recipient not provided.")
        _check_address(recipient)
        sheet = self.desk(office, "email")
        email = _found(sheet, email_id)
        _send(sheet, recipient, f"FW: {email['subject']}", email["body"])
        return told("Email forwarded successfully.")

    @tool
    def email_reply_email(self, office: Office, email_id: EmailId, body: Body) -> ToolResult:
        """Reply to an email."""
        if not email_id or not body:
            raise Refused("Email ID or body not provided.")
        sheet = self.desk(office, "email")
        email = _found(sheet, email_id)
        _send(sheet, email["sender/recipient"], f"RE: {email['subject']}", body)
        return told("Email replied successfully.")


def _found(sheet: Sheet, email_id: str) -> Row:
    email = sheet.find(email_id)
    if email is None:
        raise Refused("Email not found.")
    return email


def _send(sheet: Sheet, recipient: str | None, subject: str, body: str | None) -> None:
    if not recipient or not subject or not body:
        raise Refused("Recipient, subject, or body not provided.")
    _check_address(recipient)
    sheet.append(
        {
            "email_id": sheet.next_id(),
            "inbox/outbox": "outbox",
            "sender/recipient": recipient.lower(),
            "subject": subject,
            "sent_datetime": NOW,
            "body": body,
        }
    )


def _check_address(text: str) -> None:
    if "@" not in text or "." not in text:
        raise Refused("Invalid recipient email address.")


def _holds(email: Row, words: list[str]) -> bool:
    text = f"{email['subject']} {email['body']} {email['sender/recipient']}".lower()
    return all(word in text for word in words)


def _day(text: str | None) -> date | None:
    if not text:
        return None
    read = moment(text)
    if read is None:
        raise Refused(f"Error searching emails: {text!r} is no date. Expected YYYY-MM-DD.")
    return read.date()


def _sent_within(email: Row, first: date | None, last: date | None) -> bool:
    if first is None and last is None:
        return True
    sent = moment(email["sent_datetime"] or "")
    return sent is not None and (first or date.min) <= sent.date() <= (last or date.max)
