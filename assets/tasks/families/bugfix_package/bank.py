"""The functions a `bugfix_package` task is built from: right source, specification, faults, and test cases.

Belongs here: data. `$NAMES` are filled in by seed. A fault is a replacement in the right source, and the test case
that shows it; cases whose name is a fault's are left out of the tests when that fault is to be a hidden one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Fault:
    """One way a function is wrong."""

    old: str
    new: str
    case: str
    """Name of the test case that shows it."""
    words: str
    """What was wrong, for the changelog."""


@dataclass(frozen=True)
class Function:
    """One function of the package."""

    module: str
    name: str
    spec: str
    source: str
    cases: dict[str, str]
    """Test name (without `test_<function>_`) to the call's arguments, as source text."""
    faults: tuple[Fault, ...]


IMPORTS: Final = {
    "pricing": '"""Prices of parcels."""\n\nimport math\n',
    "codes": '"""Parcel codes and their check digits."""\n',
    "schedule": '"""Delivery days and time slots."""\n\nfrom datetime import date, timedelta\n',
}

BANK: Final = (
    Function(
        "pricing",
        "billable_weight",
        "The larger of the real weight and the volumetric weight (length * width * height in cm / $DIVISOR), in kg, "
        "rounded **up** to the next half kilogram. A value that is a multiple of 0.5 already stays.",
        '''
def billable_weight(kg, length, width, height):
    """Weight that is charged, in kg."""
    volumetric = length * width * height / $DIVISOR
    return math.ceil(max(kg, volumetric) * 2) / 2
''',
        {"light_box": "0.5, 40, 30, 25", "heavy": "7.2, 20, 20, 10", "exact_half": "3.5, 10, 10, 10"},
        (
            Fault("max(kg, volumetric)", "min(kg, volumetric)", "heavy", "took the smaller of the two weights"),
            Fault("math.ceil(max(kg, volumetric) * 2) / 2", "round(max(kg, volumetric) * 2) / 2", "heavy",
                  "rounded to the nearest half instead of up"),
        ),
    ),
    Function(
        "pricing",
        "base_fee",
        "$FEE1 cents up to and including $BAND1 kg, $FEE2 cents up to and including $BAND2 kg, above that $FEE2 cents "
        "plus $EXTRA cents for each full or started kilogram over $BAND2 kg.",
        '''
def base_fee(weight):
    """Fee in cents for a billable weight."""
    if weight <= $BAND1:
        return $FEE1
    if weight <= $BAND2:
        return $FEE2
    return $FEE2 + $EXTRA * math.ceil(weight - $BAND2)
''',
        {"small": "1", "at_first_limit": "$BAND1", "middle": "$BAND1 + 1", "at_second_limit": "$BAND2",
         "above": "$BAND2 + 1.5"},
        (
            Fault("weight <= $BAND1", "weight < $BAND1", "at_first_limit", "left the first limit out of its band"),
            Fault("weight <= $BAND2", "weight < $BAND2", "at_second_limit", "left the second limit out of its band"),
            Fault("math.ceil(weight - $BAND2)", "int(weight - $BAND2)", "above", "ignored the started kilogram"),
        ),
    ),
    Function(
        "pricing",
        "discounted",
        "From $MANY parcels on, $PERCENT percent off the total; the result is in whole cents, rounded down. Fewer "
        "parcels: the total unchanged.",
        '''
def discounted(total, parcels):
    """Total in cents after the quantity discount."""
    if parcels >= $MANY:
        return total * (100 - $PERCENT) // 100
    return total
''',
        {"few": "9990, 1", "many": "9990, $MANY + 3", "at_limit": "10010, $MANY"},
        (
            Fault("parcels >= $MANY", "parcels > $MANY", "at_limit", "started the discount one parcel too late"),
            Fault("total * (100 - $PERCENT) // 100", "total - $PERCENT", "many", "took percent for cents"),
        ),
    ),
    Function(
        "codes",
        "normalise",
        "Upper case, without blanks and dashes anywhere.",
        '''
def normalise(code):
    """The code in its stored form."""
    return code.replace(" ", "").replace("-", "").upper()
''',
        {"plain": "'ab123'", "blanks": "' ab 12 3 '", "dashes": "'ab-12-3'"},
        (
            Fault('.replace("-", "")', '.replace("-", "", 1)', "dashes", "removed only the first dash"),
            Fault('code.replace(" ", "")', "code.strip()", "blanks", "removed blanks only at the ends"),
        ),
    ),
    Function(
        "codes",
        "check_digit",
        "Digits are weighted $W1, $W2, $W1, $W2, … from the **left**; the check digit is (10 - sum % 10) % 10.",
        '''
def check_digit(digits):
    """Check digit for a string of digits."""
    total = sum(int(d) * ($W1 if i % 2 == 0 else $W2) for i, d in enumerate(digits))
    return (10 - total % 10) % 10
''',
        {"short": "'4711'", "odd_length": "'12345'", "zero": "'0000'"},
        (
            Fault("enumerate(digits)", "enumerate(reversed(digits))", "short", "weighted from the right"),
            Fault("(10 - total % 10) % 10", "10 - total % 10", "zero", "gave 10 instead of 0"),
        ),
    ),
    Function(
        "codes",
        "is_valid",
        "True if the normalised code is the prefix $PREFIX, then exactly $LENGTH digits, the last of which is the "
        "check digit of the others; False for everything else, the empty text included.",
        '''
def is_valid(code):
    """Whether a parcel code is well-formed and its check digit right."""
    text = normalise(code)
    digits = text[len("$PREFIX"):]
    if not text.startswith("$PREFIX") or not digits.isdigit() or len(digits) != $LENGTH:
        return False
    return int(digits[-1]) == check_digit(digits[:-1])
''',
        {"good": "GOOD", "wrong_digit": "WRONG", "empty": "''", "too_long": "LONG"},
        (
            Fault(" or len(digits) != $LENGTH", "", "too_long", "did not check the number of digits"),
            Fault("int(digits[-1]) == check_digit(digits[:-1])", "int(digits[0]) == check_digit(digits[1:])", "good",
                  "took the first digit for the check digit"),
        ),
    ),
    Function(
        "schedule",
        "delivery_day",
        "The date `days` working days after `start`. Saturdays, Sundays and the dates in `holidays` are not working "
        "days. The start itself is never counted. With days = 0 it is the start, whatever day that is.",
        '''
def delivery_day(start, days, holidays=()):
    """Date so many working days after the start."""
    day = start
    while days > 0:
        day += timedelta(days=1)
        if day.weekday() < 5 and day not in holidays:
            days -= 1
    return day
''',
        {"same_week": "date(2026, 3, 2), 3", "over_weekend": "date(2026, 3, 5), 2",
         "holiday": "date(2026, 3, 2), 2, (date(2026, 3, 3),)", "zero": "date(2026, 3, 7), 0"},
        (
            Fault("day.weekday() < 5", "day.weekday() <= 5", "over_weekend", "counted Saturdays as working days"),
            Fault(" and day not in holidays", "", "holiday", "ignored the holidays"),
        ),
    ),
    Function(
        "schedule",
        "overlap",
        "Minutes two slots have in common. A slot is a pair (start, end) of minutes since midnight, the end not "
        "included; slots that only touch have 0 minutes in common.",
        '''
def overlap(first, second):
    """Common minutes of two slots."""
    return max(0, min(first[1], second[1]) - max(first[0], second[0]))
''',
        {"inside": "(600, 720), (630, 660)", "partly": "(600, 660), (640, 700)", "apart": "(600, 620), (700, 720)"},
        (
            Fault("max(0, min(first[1], second[1]) - max(first[0], second[0]))",
                  "min(first[1], second[1]) - max(first[0], second[0])", "apart", "went below zero for distant slots"),
            Fault("max(first[0], second[0])", "first[0]", "inside", "looked at the first start only"),
        ),
    ),
    Function(
        "schedule",
        "slot_starts",
        "Start minutes of all slots of `length` minutes between opening and closing, back to back from the opening; "
        "the last slot must end at or before closing.",
        '''
def slot_starts(opening, closing, length):
    """Starts of the slots of a day, in minutes since midnight."""
    return list(range(opening, closing - length + 1, length))
''',
        {"fits": "540, 660, 30", "rest_left": "540, 650, 30", "too_short": "540, 550, 30"},
        (
            Fault("closing - length + 1", "closing", "rest_left", "let the last slot run past closing"),
            Fault("closing - length + 1", "closing - length", "fits", "lost the slot that ends at closing"),
        ),
    ),
)  # fmt: skip

MODULES: Final = ("codes", "pricing", "schedule")
