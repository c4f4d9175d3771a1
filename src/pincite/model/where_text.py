"""The text form of filters: ``year >= 2020 and lang in ("en", "de") and not path under "old/"``.

filter    = conjunct { "or" conjunct }
conjunct  = negated { "and" negated }
negated   = "not" negated | primary
primary   = "(" filter ")" | ("all" | "any") "(" [ filter { "," filter } ] ")" | "nothing"
          | field comparison
comparison = ("==" | "=" | "!=" | "<>" | ">" | ">=" | "<" | "<=") value | "under" value
          | ("in" | "not in" | "contains any" | "contains all") list | "contains" value
          | "exists" [ "true" | "false" ]
list      = ("(" | "[") [ value { "," value } ] (")" | "]")
value     = string | number | date | "true" | "false"
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from pincite.errors import InvalidQueryError
from pincite.model.algebra import (
    MAX_DEPTH,
    NOTHING,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    Nothing,
)
from pincite.model.checking import check_node, refuse_operator
from pincite.model.fields import FieldType
from pincite.model.values import scalar, to_microseconds
from pincite.model.where_tokens import (
    RESERVED_WORDS,
    Token,
    error_at,
    is_plain_name,
    quote,
    tokenize,
)

__all__ = ["format_where", "parse_where"]

_SYMBOLS: Mapping[str, str] = {
    "==": "eq", "=": "eq", "!=": "ne", "<>": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte",
}  # fmt: skip
_MISWRITTEN: Mapping[str, str] = {
    "&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "~": "not",
}  # fmt: skip
_CLOSING: Mapping[str, str] = {"(": ")", "[": "]"}
_EXAMPLE = 'write a filter such as: year >= 2020 and lang in ("en", "de")'


def parse_where(text: str) -> Filter:
    """The filter that ``text`` writes. Lists become tuples, dates the strings they are written as.

    Raises InvalidQueryError with a caret under the place in the text.
    """
    if not isinstance(text, str):
        raise InvalidQueryError(f"a filter text is a string, not {type(text).__name__}; {_EXAMPLE}")
    parser = _Parser(text)
    where = parser.disjunction(1)
    if parser.token.kind != "end":
        raise parser.trailing_error()
    return where


class _Parser:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._position = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    def disjunction(self, depth: int) -> Filter:
        terms = [self._conjunction(depth)]
        while self._take_word("or"):
            terms.append(self._conjunction(depth))
        return terms[0] if len(terms) == 1 else AnyOf(tuple(terms))

    def _conjunction(self, depth: int) -> Filter:
        terms = [self._negation(depth)]
        while self._take_word("and"):
            terms.append(self._negation(depth))
        return terms[0] if len(terms) == 1 else AllOf(tuple(terms))

    def _negation(self, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            raise self._error(
                f"the filter nests deeper than {MAX_DEPTH} levels",
                "write it with fewer parentheses",
            )
        if self._take_word("not"):
            return Not(self._negation(depth + 1))
        return self._primary(depth)

    def _primary(self, depth: int) -> Filter:
        token = self.token
        if self._take_symbol("("):
            where = self.disjunction(depth + 1)
            self._expect(")", token)
            return where
        if token.is_word("all", "any") and self._next_is("("):
            return self._group(depth)
        if self._take_word("nothing"):
            return NOTHING
        return self._predicate()

    def _group(self, depth: int) -> Filter:
        kind = AllOf if self._advance().is_word("all") else AnyOf
        opening = self._advance()
        terms: list[Filter] = []
        while not self._take_symbol(")"):
            if terms:
                self._expect(",", opening)
            terms.append(self.disjunction(depth + 1))
        return kind(tuple(terms))

    def _predicate(self) -> Filter:
        field = self._field()
        operator = self._operator(field)
        value = _OPERANDS.get(operator, _Parser._value)(self)
        if operator == "contains":
            operator, value = "contains_any", (value,)
        return DeclaredFilter(field.value, operator, value)

    def _field(self) -> Token:
        token = self.token
        if token.kind == "string" or (token.kind == "name" and not token.is_word(*RESERVED_WORDS)):
            return self._advance()
        if token.kind == "end":
            raise self._error("a comparison is missing here", _EXAMPLE)
        if token.value in _MISWRITTEN:
            raise self._error(f"unexpected {token.value!r}", f"write {_MISWRITTEN[token.value]!r}")
        if token.kind in ("number", "date"):
            raise self._error(
                "a field name comes first", "write year >= 2020 rather than 2020 <= year"
            )
        if token.kind == "name":
            raise self._error(
                f"{token.value!r} is a word of the filter language",
                f'put quotes around it where it names a field: "{token.value}"',
            )
        raise self._error(f"a field name is missing before {token.value!r}", _EXAMPLE)

    def _operator(self, field: Token) -> str:
        token = self.token
        if token.kind == "symbol" and token.value in _SYMBOLS:
            return _SYMBOLS[self._advance().value]
        word = token.value.lower() if token.kind == "name" else ""
        if word not in OPERATORS and word not in ("contains", "not"):
            raise self._operator_error(field)
        self._advance()
        if word == "not":
            if not self._take_word("in"):
                raise self._error("'in' is missing after 'not'", 'write: lang not in ("en")')
            return "not_in"
        if word == "contains" and self.token.is_word("any", "all"):
            return f"contains_{self._advance().value.lower()}"
        return word

    def _operator_error(self, field: Token) -> InvalidQueryError:
        token, known = self.token, "== != > >= < <= in, not in, contains, under, exists"
        if token.is_word("is"):
            return self._error("unknown operator 'is'", f"ask with: {field.value} exists")
        if token.kind == "end":
            return self._error("an operator is missing here", f"write one of {known}")
        return self._error(f"unknown operator {token.value!r}", f"write one of {known}")

    def _value(self) -> Any:
        value = self._literal(self.token)
        if value is None:
            raise self._value_error()
        self._advance()
        return value

    def _literal(self, token: Token) -> str | int | float | bool | None:
        if token.kind == "number":
            return self._number(token)
        if token.is_word("true", "false"):
            return token.is_word("true")
        is_date = token.kind == "date" and to_microseconds(token.value) is not None
        return token.value if is_date or token.kind == "string" else None

    def _value_error(self) -> InvalidQueryError:
        token = self.token
        if token.kind == "date":
            return self._error("there is no such date", "write dates as 2025-01-31")
        if token.kind == "name":
            return self._error(
                f"{token.value!r} is not a value", f"put text in quotes: {quote(token.value)}"
            )
        if token.kind == "symbol" and token.value in _CLOSING:
            return self._error(
                "one value is wanted here, not a list", "use 'in' for several values"
            )
        return self._error(
            "a value is missing here", "write a string in quotes, a number or a date"
        )

    def _number(self, token: Token) -> int | float:
        try:
            return int(token.value)
        except ValueError:
            number = math.nan if token.value.lstrip("+-").isdigit() else float(token.value)
        if not math.isfinite(number):
            raise self._error("this number is too large", "write a smaller number")
        return number

    def values(self) -> tuple[Any, ...]:
        """A list of values in parentheses or brackets."""
        opening = self.token
        if opening.kind != "symbol" or opening.value not in _CLOSING:
            raise self._error("a list is missing here", 'write the values as ("en", "de")')
        self._advance()
        closing = _CLOSING[opening.value]
        listed: list[Any] = []
        while not self._take_symbol(closing):
            if listed:
                self._expect(",", opening)
            listed.append(self._value())
        return tuple(listed)

    def presence(self) -> bool:
        """What may follow "exists": nothing, true or false."""
        if self.token.is_word("true", "false"):
            return self._advance().is_word("true")
        return True

    def trailing_error(self) -> InvalidQueryError:
        """What is wrong with something that follows a whole filter."""
        token = self.token
        if token.kind == "symbol" and token.value in _MISWRITTEN:
            return self._error(f"unexpected {token.value!r}", f"write {_MISWRITTEN[token.value]!r}")
        if token.kind == "symbol" and token.value in _SYMBOLS:
            return self._error(
                "comparisons cannot be chained", "write year >= 2000 and year <= 2010 instead"
            )
        if token.kind == "symbol" and token.value == ")":
            return self._error("this parenthesis was never opened", "remove it")
        return self._error(f"unexpected {token.value!r}", "join comparisons with 'and' or 'or'")

    def _expect(self, symbol: str, opening: Token) -> None:
        if self._take_symbol(symbol):
            return
        if self.token.kind == "end":
            self._position = self._tokens.index(opening)
            raise self._error(
                f"this {opening.value!r} is never closed", f"close it with {symbol!r}"
            )
        if symbol == ")":
            raise self.trailing_error()
        raise self._error(f"{symbol!r} is missing here", f"write {symbol!r} or close the list")

    def _take_word(self, word: str) -> bool:
        return self._take(self.token.is_word(word))

    def _take_symbol(self, symbol: str) -> bool:
        return self._take(self.token.kind == "symbol" and self.token.value == symbol)

    def _take(self, wanted: bool) -> bool:
        self._position += wanted
        return wanted

    def _next_is(self, symbol: str) -> bool:
        following = self._tokens[min(self._position + 1, len(self._tokens) - 1)]
        return following.kind == "symbol" and following.value == symbol

    def _advance(self) -> Token:
        token = self.token
        self._position += token.kind != "end"
        return token

    def _error(self, problem: str, advice: str) -> InvalidQueryError:
        return error_at(self._text, self.token.start, problem, advice)


_OPERANDS: Mapping[str, Callable[[_Parser], Any]] = {
    "exists": _Parser.presence,
    **{name: _Parser.values for name, operator in OPERATORS.items() if operator.many},
}


_WRITTEN: Mapping[str, str] = {
    "eq": "==", "ne": "!=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "in": "in",
    "not_in": "not in", "contains_any": "contains any", "contains_all": "contains all",
    "under": "under",
}  # fmt: skip


def format_where(where: Filter) -> str:
    """The text form, which ``parse_where`` reads back as an equal filter.

    Datetimes and dates are written as ISO strings, which mean the same to a datetime field. Raises
    InvalidQueryError for what is no filter and for operands that have no text form.
    """
    return _format(where, 1)


def _format(where: Filter, depth: int) -> str:
    check_node(where, depth)
    if isinstance(where, DeclaredFilter):
        return _format_predicate(where)
    if isinstance(where, Not):
        return f"not {_format_term(where.term, depth)}"
    if isinstance(where, Nothing):
        return "nothing"
    word, name = (" and ", "all") if isinstance(where, AllOf) else (" or ", "any")
    if len(where.terms) > 1:
        return word.join(_format_term(term, depth) for term in where.terms)
    return f"{name}({', '.join(_format(term, depth + 1) for term in where.terms)})"


def _format_term(term: Filter, depth: int) -> str:
    text = _format(term, depth + 1)
    is_joined = isinstance(term, (AllOf, AnyOf)) and len(term.terms) > 1
    return f"({text})" if is_joined else text


def _format_predicate(predicate: DeclaredFilter) -> str:
    if not isinstance(predicate.operator, str) or predicate.operator not in OPERATORS:
        refuse_operator(predicate.operator, predicate.field)
    field = predicate.field if is_plain_name(predicate.field) else quote(predicate.field)
    if predicate.operator == "exists":
        return f"{field} exists" if _format_value(predicate) == "true" else f"{field} exists false"
    return f"{field} {_WRITTEN[predicate.operator]} {_format_operand(predicate)}"


def _format_operand(predicate: DeclaredFilter) -> str:
    if not OPERATORS[predicate.operator].many:
        return _format_value(predicate)
    if not isinstance(predicate.value, (list, tuple)):
        raise _operand_error(predicate)
    items = (
        _format_value(DeclaredFilter(predicate.field, predicate.operator, item))
        for item in predicate.value
    )
    return f"({', '.join(items)})"


def _format_value(predicate: DeclaredFilter) -> str:
    value = predicate.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, date):
        return quote(value.isoformat())
    number = scalar(value, FieldType.NUMBER)
    if number is not None:
        with contextlib.suppress(ValueError):  # an integer of more digits than Python prints
            return repr(number)
    raise _operand_error(predicate)


def _operand_error(predicate: DeclaredFilter) -> InvalidQueryError:
    return InvalidQueryError(
        f"the operand of {predicate.operator!r} on field {predicate.field!r} has no text form; "
        "give strings, finite numbers of at most 4,300 digits, dates, true or false, and a list "
        "where the operator takes many",
        field=predicate.field,
    )
