#!/usr/bin/env python3
"""`make cases`: for each of the public reports of others' faults, the test that answers it.

    cases.py TEST-LOG

reports.tsv has a line for each report: number, kind, where it was made, what happened there. A test
that exercises the scenario carries its id, `B` and the number, in its name, its comment or its table.
What `swift test` said of it stands in TEST-LOG. The cases under a real systemd are told by
`make systemd-test`, which needs root and takes longer.
"""

import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
ID = re.compile(r"\bB\d{2,3}\b")
FUNCTION = re.compile(r"\s*(?:@Test.*?)?func `(.+?)`")


def swift_tests(path):
    """Pairs of an id and the tests of a file that it belongs to."""
    lines = path.read_text().splitlines()
    starts = [(number, found.group(1)) for number, line in enumerate(lines)
              if (found := FUNCTION.match(line))]
    names = [name for _, name in starts]
    blocks = []
    for number, name in starts:
        first = number
        # Its attributes and comments stand above it, without an empty line between.
        while first > 0 and lines[first - 1].strip() and not lines[first - 1].endswith("{"):
            first -= 1
        blocks.append((first, end_of_block(lines, number), name))
    for number, line in enumerate(lines):
        for found in ID.findall(line):
            owners = [name for first, last, name in blocks if first <= number <= last]
            yield found, owners or names


def end_of_block(lines, start):
    indent = re.match(r"\s*", lines[start]).group()
    for number in range(start + 1, len(lines)):
        if lines[number] == indent + "}":
            return number
    return len(lines)


def results(log):
    """What became of each test, by its name."""
    found = {}
    for line in log.read_text(errors="replace").splitlines():
        # Not only at its begin: an argument that holds a NUL ends the line before without its end.
        match = re.search(r'([^\w\s"]) Test "([^"]+?)"(?: with \d+ test cases?)? (passed|failed|skipped|was)', line)
        if match:
            found[match.group(2)] = match.group(3)
        elif match := re.match(r'. Test "(.+?)" (?:skipped|cancelled)', line):
            found[match.group(1)] = "skipped"
    return found


def collect(log):
    passed, answers = results(log), {}
    for path in sorted(TESTS.rglob("*.swift")):
        for name, tests in swift_tests(path):
            for test in tests:
                answers.setdefault(name, {})[f"{path.stem}: {test}"] = passed.get(test, "not run")
    table = TESTS / "Systemd" / "cases.sh"
    for line in table.read_text().splitlines():
        columns = [column.strip() for column in line.split("|")]
        if len(columns) == 4:
            for name in ID.findall(columns[2]):
                answers.setdefault(name, {})[f"systemd-test: {columns[0]}"] = "by systemd-test"
    return answers


def verdict(tests):
    kinds = set(tests.values())
    if not kinds:
        return "NO TEST"
    for bad in ("failed", "not run"):
        if bad in kinds:
            return bad.upper()
    return "passed" if "passed" in kinds else kinds.pop()


def main():
    answers, good, total = collect(pathlib.Path(sys.argv[1])), 0, 0
    for line in (TESTS / "Cases" / "reports.tsv").read_text().splitlines():
        number, kind, _, what = line.split("\t")
        tests = answers.get("B" + number, {})
        result = verdict(tests)
        total += 1
        good += result not in ("NO TEST", "FAILED", "NOT RUN")
        first = next(iter(tests), "")
        more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
        print(f"B{number:<4} {kind:<20} {result:<16} {first}{more}")
    print(f"{good} of {total} reports are answered")
    return good < total


if __name__ == "__main__":
    sys.exit(main())
