"""TO_CHAR of numbers under a format mask; that of dates is in `masks`."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from standin.engine.types.values import EXACT, number_text
from standin.interface import OraError

LONGEST_TM9 = 64  # characters; TM9 shows a longer number as TME does


def formatted_number(value: float | Decimal, mask: str, marks: str = ".,") -> str:
    """Return TO_CHAR(value, mask) for TM, TM9 and masks of 9, 0, D, G, `.`, `,`, FM, and S first or last."""
    upper = mask.upper()
    if upper in ("TM", "TM9"):
        text = number_text(value)
        return (text if len(text) <= LONGEST_TM9 else _scientific(value)).replace(".", marks[0])
    packed = upper.startswith("FM")
    body = upper[2:] if packed else upper
    signed = "S" in body
    body = body.replace("S", "").replace("G", ",").replace("D", ".")
    if not body or set(body) - set("90.,"):
        raise _not_taken(mask)
    whole_mask, _, fraction_mask = body.partition(".")
    digits = len(fraction_mask)
    exact = EXACT.create_decimal(repr(value) if isinstance(value, float) else value)
    exact = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP, context=EXACT)
    whole, _, fraction = format(abs(exact), "f").partition(".")
    places = whole_mask.replace(",", "")
    least = len(places) - places.index("0") if "0" in places else 0
    whole = whole.lstrip("0").rjust(least, "0")
    if len(whole) > len(places):
        return "#" * (len(mask) + 1)
    if packed:
        fraction = fraction[: max(fraction_mask.rfind("0") + 1, len(fraction.rstrip("0")))]
    if "," in whole_mask:
        whole = _grouped(whole, whole_mask, marks[1])
    text = whole + (marks[0] + fraction if fraction_mask else "")
    sign = "-" if exact < 0 else ("+" if signed else "")
    return sign + text if packed else (sign + text).rjust(len(body) + 1)


def _not_taken(mask: str) -> OraError:
    if set(mask.upper()) <= set("0123456789BCDEFGLMPRSTUVX$.,"):
        return OraError(3001, f"unimplemented feature: the number format {mask}")
    return OraError(1481, "invalid number format model")


def _scientific(value: float | Decimal) -> str:
    """Return a number with one digit before the point, and two or more of the exponent, as TME does."""
    digits, exponent = f"{EXACT.create_decimal(value).normalize(EXACT):E}".split("E")
    return f"{digits}E{exponent[0]}{exponent[1:].rjust(2, '0')}"


def _grouped(whole: str, mask: str, mark: str) -> str:
    digits, out = list(whole), []
    for sign in reversed(mask):
        if not digits:
            break
        out.append(mark if sign == "," else digits.pop())
    return "".join(reversed(out))
