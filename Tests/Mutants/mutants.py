#!/usr/bin/env python3
"""Shows that exploration and tests catch faults: puts many into a copy of the sources, each behind a
switch, builds that once, and explores with one switch on at a time until the first violation. What the
exploration lets live is judged by the unit tests of the layer that it is in, of the same build.

  mutants.py build DIRECTORY [--swift SWIFT]
  mutants.py run DIRECTORY [--jobs N] [--schedules N] [--only TEXT] [--seed N --for SECONDS]

With `--for` mutants are drawn in the order of the seed until the time is over. What does not end is
caught; how long that is goes by what the same takes without a fault, which must pass.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Where faults are put by rule. The hand-picked ones name their own files.
MECHANICAL = [
    "Execution/Sleeper.swift",
    "Session/SessionMachine.swift",
    "Session/SessionMachine+Moves.swift",
    "Session/SessionCoordinator.swift",
    "Session/SessionCoordinator+Refresh.swift",
    "Session/SessionCoordinator+Logout.swift",
    "Session/SessionCoordinator+SignIn.swift",
    "Session/SessionCoordinator+Renewal.swift",
    "Session/SessionCoordinator+Stop.swift",
    "Session/SessionCoordinator+Health.swift",
    "Session/RefreshWaiter.swift",
    "Session/RefreshBackoff.swift",
    "Session/RevocationCoordinator.swift",
    "Requests/Attempt.swift",
    "Requests/ResilientRequester.swift",
    "Requests/RetryPolicy.swift",
    "Store/SQLiteSessionStore.swift",
    "Store/SQLiteSessionStore+Install.swift",
    "Store/SQLiteSessionStore+Refresh.swift",
    "Store/SQLiteSessionStore+Destroy.swift",
    "Store/SQLiteSessionStore+Load.swift",
    "Store/SQLiteSessionStore+Tips.swift",
]
# Who judges what the exploration does not reach: the bounds of numbers, the words of an answer; in the
# store files, syncs and failing disks (the test with the power cuts is among its tests).
STORE_TESTS = "StoreTests"
OTHER_TESTS = "SessionTests"
# Worlds with the real store, and a run with it costs as much as so many others.
STORE_WORLDS = ["--worlds", "on SQLite"]
STORE_COST = 50

SWITCH = """import Glibc

private let active: Int = getenv("MUTANT").flatMap { Int(String(cString: $0)) } ?? 0

/// Whether the fault of this number is switched on.
func mutant(_ number: Int) -> Bool { active == number }
"""


class Mutant:
    def __init__(self, number, kind, file, line, text):
        self.number, self.kind, self.file, self.line, self.text = number, kind, file, line, text

    @property
    def is_in_store(self):
        return self.file.startswith("Store/")

    def row(self):
        return "\t".join([str(self.number), self.kind, self.file, str(self.line), self.text])


class Pool:
    """Gives numbers; a mutant that did not compile keeps its number and is left out."""

    def __init__(self, dropped):
        self.dropped = dropped
        self.mutants = []
        self.count = 0
        self.texts = collections.Counter()

    def add(self, kind, file, line, text):
        self.count += 1
        text = " ".join(text.split())
        self.texts[kind, file, text] += 1
        # The same condition may stand in a file several times.
        if (place := self.texts[kind, file, text]) > 1:
            text += f" #{place}"
        if self.count in self.dropped:
            return None
        self.mutants.append(Mutant(self.count, kind, file, line, text))
        return self.count


# Reading Swift, as far as it is needed.


def past_literal(text, at):
    """The index behind the string or comment that begins at `at`; `at` itself where none does."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        return text.index("*/", at) + 2
    if text[at] != '"':
        return at
    quote = '"""' if text.startswith('"""', at) else '"'
    at += len(quote)
    while not text.startswith(quote, at):
        if text.startswith("\\(", at):
            at = past_brackets(text, at + 1)
        else:
            at += 2 if text[at] == "\\" else 1
    return at + len(quote)


def past_brackets(text, at):
    depth = 0
    while True:
        after = past_literal(text, at)
        if after != at:
            at = after
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        at += 1
        if depth == 0:
            return at


def split_top(text, separator):
    """Splits at a separator that is in no bracket and no literal."""
    parts, start, at = [], 0, 0
    while at < len(text):
        after = past_literal(text, at)
        if after != at:
            at = after
        elif text[at] in "([{":
            at = past_brackets(text, at)
        elif text.startswith(separator, at):
            parts.append(text[start:at])
            at += len(separator)
            start = at
        else:
            at += 1
    return parts + [text[start:]]


def conditions(text):
    """Each `guard`, `if` and `while` with the span of its condition."""
    at = 0
    while at < len(text):
        after = past_literal(text, at)
        if after != at:
            at = after
            continue
        found = re.compile(r"(?<![\w#.`$])(guard|if|while)\s").match(text, at)
        if not found:
            at += 1
            continue
        start = end = found.end()
        is_of_repeat = found[1] == "while" and text[:at].rstrip(" ").endswith("}")
        while end < len(text):
            past = past_literal(text, end)
            if past != end:
                end = past
            elif is_of_repeat and text[end] == "\n":
                break
            elif found[1] == "guard" and re.compile(r"\selse\b").match(text, end):
                break
            elif found[1] != "guard" and text[end] == "{":
                break
            elif text[end] in "([{":
                end = past_brackets(text, end)
            else:
                end += 1
        yield found[1], start, end
        at = end


COMPARISON = re.compile(r" (<=|>=|<|>) ")


def swapped(clause, pool, file, line):
    """The comparison of a clause with its operands swapped, behind a switch."""
    parts = COMPARISON.split(clause)
    if len(parts) != 3 or any(word in clause for word in ("&&", "||", "??", "?", "{", "await")):
        return clause
    left, operator, right = parts
    number = pool.add("swapped", file, line, clause)
    if number is None:
        return clause
    return f"(mutant({number}) ? {right} {operator} {left} : {left} {operator} {right})"


def mutate_conditions(text, pool, file):
    out, last = [], 0
    for keyword, start, end in conditions(text):
        line = text.count("\n", 0, start) + 1
        clauses = split_top(text[start:end], ",")
        new = [mutate_clause(keyword, clause, pool, file, line) for clause in clauses]
        out += [text[last:start], ",".join(new)]
        last = end
    return "".join(out) + text[last:]


def mutate_clause(keyword, clause, pool, file, line):
    core = clause.strip()
    if re.match(r"(let|var|case|#|true$)\b", core) or "mutant(" in core or not core:
        return clause
    for joint, neutral in ((" && ", "||"), (" || ", "&&")):
        parts = split_top(core, joint)
        if len(parts) > 1:
            new = []
            for part in parts:
                number = pool.add("operand", file, line, f"{keyword} {core}: without {part.strip()}")
                switch = "" if number is None else f" {neutral} {'!' if neutral == '&&' else ''}mutant({number})"
                new.append(f"({part.strip()}{switch})")
            core = joint.join(new)
            break
    else:
        core = swapped(core, pool, file, line)
    text = " ".join(clause.split())
    negated = pool.add("negated", file, line, f"{keyword} {text}") if keyword != "while" else None
    if negated is not None:
        core = f"({core}) != mutant({negated})"
    deleted = pool.add("deleted", file, line, f"{keyword} {text}")
    if deleted is not None:
        core = f"({core}) " + (f"|| mutant({deleted})" if keyword == "guard" else f"&& !mutant({deleted})")
    space = clause[: len(clause) - len(clause.lstrip())]
    tail = clause[len(clause.rstrip()) :]
    return f"{space}({core}){tail}" if core != clause.strip() else clause


def mutate_lines(text, pool, file):
    """Comparisons outside of conditions, and `defer`."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        number = index + 1
        if "mutant(" in line or line.strip().startswith("//"):
            continue
        if found := re.match(r"^(\s*)defer \{ (.+) \}$", line):
            if (mutant := pool.add("deleted", file, number, f"defer {found[2]}")) is not None:
                lines[index] = f"{found[1]}defer {{ if !mutant({mutant}) {{ {found[2]} }} }}"
        elif found := re.match(r"^(\s*)defer \{$", line):
            close = next(i for i in range(index, len(lines)) if lines[i] == found[1] + "}")
            body = " ".join(each.strip() for each in lines[index + 1 : close])
            if (mutant := pool.add("deleted", file, number, f"defer {body}")) is not None:
                lines[index] = f"{found[1]}defer {{ if !mutant({mutant}) {{"
                lines[close] = f"{found[1]}}} }}"
        elif found := re.search(r"\{ (\$0[\w.]*) (<=|>=|<|>) ([\w.]+) \}", line):
            clause = f"{found[1]} {found[2]} {found[3]}"
            lines[index] = line.replace(clause, swapped(clause, pool, file, number))
        elif found := re.search(r" where ([^{}]+?) \{", line):
            lines[index] = line.replace(found[1], swapped(found[1], pool, file, number))
        elif found := re.match(r"^\s*(?:return )?([\w.]+ (?:<=|>=|<|>) [\w.]+) \? ", line):
            lines[index] = line.replace(found[1], swapped(found[1], pool, file, number), 1)
    return "\n".join(lines)


def without_transactions(text, pool, file):
    """Each transaction's boundary taken out."""

    def off(found):
        line = text.count("\n", 0, found.start()) + 1
        number = pool.add("boundary", file, line, "the transaction " + found[0])
        return found[0] if number is None else f".transaction(isOff: mutant({number}), "

    return re.sub(r"\.transaction\((?=mapping)", off, text)


# For a transaction that is none: what `body` did before it failed stays, as without BEGIN.
NO_TRANSACTION = """
extension Database {
  func transaction<Result, Failure: Error>(
    isOff: Bool, mapping failure: (SQLiteError) -> Failure,
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    isOff ? try body() : try transaction(mapping: failure, body)
  }
}
"""


def only_judges(package):
    """The package without the tests that no mutant is judged by."""
    at = 0
    while (at := package.find(".testTarget(", at)) >= 0:
        end = past_brackets(package, at + len(".testTarget"))
        if any(f'"{name}"' in package[at:end].split(",")[0] for name in (STORE_TESTS, OTHER_TESTS)):
            at = end
        else:
            package = package[:at] + package[end:].lstrip().removeprefix(",")
    return package


def handpicked(texts, pool):
    for block in re.split(r"(?m)^(?=@ )", (HERE / "handpicked.txt").read_text()):
        found = re.match(r"@ (\S+) \| (.+)\n([\s\S]*?)\n=>\n([\s\S]*?)\n*\Z", block)
        if not found:
            continue
        file, name, before, after = found.groups()
        text = texts.setdefault(file, (ROOT / "Sources" / file).read_text())
        if text.count(before) != 1:
            sys.exit(f"mutants: \"{name}\" stands in {text.count(before)} places of {file}")
        line = text[: text.index(before)].count("\n") + 1
        number = pool.add("picked", file, line, name)
        if number is not None:
            texts[file] = text.replace(before, re.sub(r"\bMUTANT\b", f"mutant({number})", after))


def write_if_changed(path, text):
    """An unchanged file keeps its time, and is not built again."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def prepare(directory, dropped):
    pool = Pool(dropped)
    texts = {}
    handpicked(texts, pool)
    for file in MECHANICAL:
        text = texts.get(file) or (ROOT / "Sources" / file).read_text()
        text = mutate_lines(mutate_conditions(text, pool, file), pool, file)
        if file.startswith("Store/"):
            text = without_transactions(text, pool, file)
        texts[file] = text
    texts["Store/SQLite/Transaction.swift"] = (
        ROOT / "Sources/Store/SQLite/Transaction.swift"
    ).read_text() + NO_TRANSACTION
    for folder in ("Sources", "Tests"):
        target = directory / folder
        # What an earlier copy had and the sources have no more.
        for path in target.rglob("*"):
            gone = not (ROOT / folder / path.relative_to(target)).exists()
            if path.is_file() and gone and path.name != "Mutant.swift":
                path.unlink()
        for path in (ROOT / folder).rglob("*"):
            name = str(path.relative_to(ROOT / folder))
            if path.is_file() and not (folder == "Sources" and name in texts):
                copy(path, target / name)
    package = (ROOT / "Package.swift").read_text()
    write_if_changed(directory / "Package.swift", only_judges(package))
    for file, text in texts.items():
        write_if_changed(directory / "Sources" / file, text)
    for module in {file.split("/")[0] for file in texts}:
        write_if_changed(directory / "Sources" / module / "Mutant.swift", SWITCH)
    (directory / "mutants.tsv").write_text("".join(each.row() + "\n" for each in pool.mutants))
    return pool.mutants


def copy(source, target):
    if not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def build(arguments):
    directory = pathlib.Path(arguments.directory)
    directory.mkdir(parents=True, exist_ok=True)
    dropped = set()
    start = time.monotonic()
    for _ in range(12):
        mutants = prepare(directory, dropped)
        # One build for both: the tests are optimised, too, and may look inside (`@testable`).
        swift = [arguments.swift, "build", "--package-path", str(directory), "-c", "release"]
        swift += ["-Xswiftc", "-enable-testing"]
        for product in ("brewlog-races", "brewlogPackageTests"):
            result = subprocess.run(
                swift + ["--product", product],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if result.returncode != 0:
                break
        else:
            seconds = time.monotonic() - start
            print(
                f"{len(mutants)} mutants are behind switches; {len(dropped)} did not compile; "
                f"built in {seconds:.0f} s")
            return 0
        bad = culprits(result.stdout, directory, mutants)
        if not bad:
            print(result.stdout[-6000:])
            return 1
        dropped |= bad
        print(f"left out, since they do not compile: {sorted(bad)}", flush=True)
    return 1


def culprits(output, directory, mutants):
    """The mutants in the lines that the compiler complains of."""
    bad = set()
    for path, line in re.findall(r"^(/\S+?):(\d+):\d+: error:", output, re.M):
        if "/Sources/" not in path:
            continue
        lines = pathlib.Path(path).read_text().split("\n")
        for reach in (0, 2, 6):
            near = "\n".join(lines[max(0, int(line) - 1 - reach) : int(line) + reach])
            numbers = {int(number) for number in re.findall(r"mutant\((\d+)\)", near)}
            if numbers:
                bad |= numbers
                break
    return bad


# Running them.


def equivalents():
    """`kind | file | text | why` a line."""
    known = {}
    for line in (HERE / "equivalent.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            kind, file, text, why = [part.strip() for part in line.split(" | ")]
            known[(kind, file, text)] = why
    return known


class Bench:
    """Explores and tests the built copy with one fault switched on, or with none."""

    def __init__(self, directory, arguments):
        built = (directory / ".build/release").resolve()
        self.races = str(built / "brewlog-races")
        self.tests = str(built / "brewlogPackageTests.xctest")
        self.schedules = arguments.schedules
        # What takes longer does not end.
        self.limits = {}

    def explore(self, number, in_store, seconds):
        """The answer's words, or None where it does not end."""
        schedules = self.schedules // (STORE_COST if in_store else 1)
        command = [self.races, "--until-failure", "--workers", "1", "--seconds", "3600"]
        command += ["--schedules", str(schedules)] + (STORE_WORLDS if in_store else [])
        try:
            result = subprocess.run(
                command, env=self.environment(number), stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        return result.returncode, result.stdout.strip().split("\t")

    def test(self, number, suite, seconds):
        """The name of the first test that fails; None where all pass."""
        command = [self.tests, "--testing-library", "swift-testing", "--filter", rf"^{suite}\."]
        process = subprocess.Popen(
            command, env=self.environment(number), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
        guard = threading.Timer(seconds, process.kill)
        guard.start()
        failed, tail = None, ""
        for line in process.stdout:
            line = re.sub(r"\x1b\[[\d;]*m", "", line)
            if found := re.match(r'✘ Test (?:"(.+?)"|(\S+)) ', line):
                failed = found[1] or found[2]
                break
            tail = line.strip() or tail
        has_ended = guard.is_alive()
        guard.cancel()
        process.kill()
        status = process.wait()
        if failed:
            return failed
        if not has_ended:
            return "they do not end"
        # All have passed, and it has said so itself: it may have been killed after that.
        return None if " passed after " in tail else f"they stop ({status}): {tail[:60]}"

    @staticmethod
    def environment(number):
        return dict(
            os.environ, MUTANT=str(number), SWIFT_BACKTRACE="enable=no",
            SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH="4")

    def try_without(self, in_store, is_sample):
        """Without a fault nothing may fail, and it takes its time. The store's tests take half a
        minute: a sample believes `make test` that they pass."""
        start = time.monotonic()
        result = self.explore(0, in_store, 600)
        explored = time.monotonic()
        suite = STORE_TESTS if in_store else OTHER_TESTS
        if is_sample and in_store:
            self.limits[in_store] = (30 + 10 * (explored - start), 600)
            return result is not None and result[0] == 0
        failed = self.test(0, suite, 600)
        tested = time.monotonic()
        if result is None or result[0] != 0 or failed:
            print(f"without a fault: the exploration says {result}, {suite} {failed or 'pass'}")
            return False
        self.limits[in_store] = (30 + 10 * (explored - start), 30 + 10 * (tested - explored))
        print(
            f"without a fault: explored in {explored - start:.0f} s, "
            f"{suite} in {tested - explored:.0f} s", flush=True)
        return True

    def judge(self, mutant):
        """Who caught it (None: nobody), what that one says, and after how many schedules."""
        to_explore, to_test = self.limits[mutant.is_in_store]
        result = self.explore(mutant.number, mutant.is_in_store, to_explore)
        if result is None:
            return "exploration", "it does not end", "-"
        status, words = result
        if words[0] == "caught":
            return "exploration", f"{words[3]} [{words[2]}]", words[1]
        if status != 0:
            name = signal.Signals(-status).name if status < 0 else status
            return "exploration", f"it stops ({name})", "-"
        schedules = words[1] if len(words) > 1 else "-"
        suite = STORE_TESTS if mutant.is_in_store else OTHER_TESTS
        failed = self.test(mutant.number, suite, to_test)
        if failed:
            return "tests", f"{suite}: {failed}", schedules
        return None, "SURVIVED", schedules


def run(arguments):
    directory = pathlib.Path(arguments.directory)
    rows = [line.split("\t") for line in (directory / "mutants.tsv").read_text().splitlines()]
    mutants = [Mutant(int(n), kind, file, int(line), text) for n, kind, file, line, text in rows]
    known = equivalents()
    due = [each for each in mutants if (each.kind, each.file, each.text) not in known]
    same = [each for each in mutants if (each.kind, each.file, each.text) in known]
    unknown = set(known) - {(each.kind, each.file, each.text) for each in same}
    for kind, file, text in sorted(unknown):
        print(f"equivalent.txt names a mutant that there is not: {kind} | {file} | {text}")
    if arguments.only:
        due = [each for each in mutants if re.search(arguments.only, each.row())]
        same = []
    if arguments.time:
        random.Random(arguments.seed).shuffle(due)
    start = time.monotonic()
    end = start + (arguments.time or 1e9)
    bench = Bench(directory, arguments)
    kinds = sorted({each.is_in_store for each in due})
    if not all(bench.try_without(kind, bool(arguments.time)) for kind in kinds):
        return 1
    caught = {"exploration": 0, "tests": 0}
    survivors = []

    def one(mutant):
        return None if time.monotonic() > end else bench.judge(mutant)

    print(f"{'no':>4}  {'kind':8} {'where':48} {'mutant':70} {'schedules':>9}  caught by")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as threads:
        for mutant, result in zip(due, threads.map(one, due)):
            if result is None:
                break
            who, why, schedules = result
            if who:
                caught[who] += 1
            else:
                survivors.append(mutant)
            where = f"{mutant.file}:{mutant.line}"
            print(
                f"{mutant.number:4}  {mutant.kind:8} {where:48} {mutant.text[:70]:70}"
                f" {schedules:>9}  {why}", flush=True)
    if same and not arguments.time:
        print("\nequivalent, and not run:")
        for each in same:
            why = known[(each.kind, each.file, each.text)]
            print(f"{each.number:4}  {each.kind:8} {each.file}:{each.line}  {each.text}: {why}")
    done = sum(caught.values()) + len(survivors)
    print(
        f"\n{len(mutants)} mutants, {len(same)} of them equivalent; of {done} that were run "
        f"{caught['exploration']} were caught by the exploration, {caught['tests']} by tests, "
        f"{len(survivors)} survived; {time.monotonic() - start:.0f} s")
    for each in survivors:
        print(f"SURVIVED: {each.number} {each.kind} {each.file}:{each.line} {each.text}")
    return 1 if survivors or unknown else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("build")
    builder.add_argument("directory")
    builder.add_argument("--swift", default="swift")
    runner = commands.add_parser("run")
    runner.add_argument("directory")
    runner.add_argument("--jobs", type=int, default=2)
    runner.add_argument("--schedules", type=int, default=20_000, help="how many each has to survive")
    runner.add_argument("--only", help="a pattern: runs those whose row matches")
    runner.add_argument("--seed", type=int, default=1)
    runner.add_argument("--for", dest="time", type=int, help="seconds")
    arguments = parser.parse_args()
    return build(arguments) if arguments.command == "build" else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
