# SPDX-License-Identifier: Apache-2.0
"""Finds types that two files define under one qualified name.

Two classes of one name in one program are undefined behaviour that no compiler sees (it sees one file at a
time): the linker keeps one of their destructors for both. So a qualified name has one file, whatever programs
the files go into today. What cannot clash is not looked at: anonymous namespaces, and types within functions.

  python3 scripts/duplicate_names.py FILE...    prints `file:line: what is wrong`, exits 1 when anything is

It reads C++ as far as that takes: comments, literals and preprocessor lines are dropped, then braces are
followed, each opened by what stands before it. Both sides of an #if are read.
"""
import collections
import re
import sys

_DROPPED = re.compile(
    r"""//(?:\\\n|[^\n])*
      | /\*.*?\*/
      | ^[ \t]*\#(?:\\\n|[^\n])*
      | R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![\w'])'(?:\\.|[^'\\\n])+'
      | \b\d[\w.]*(?:'[\w.]+)+""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
_NAMESPACE = re.compile(r'(?:inline\s+)?namespace\b\s*(?:\[\[.*?\]\]\s*)?(?P<name>[\w:]*)\s*$', re.DOTALL)
_TYPE = re.compile(
    r"""(?:(?:typedef|static|inline|constexpr|const)\s+)*
        (?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+
        (?:(?:alignas\s*\([^()]*\)|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\))\s*)*
        (?P<name>(?:\w+(?:<[^{}()]*>)?::)*\w+(?:\s*<[^{}]*>)?)
        (?:\s+final)?\s*(?::(?!:).*)?$""",
    re.VERBOSE | re.DOTALL)
_ACCESS = re.compile(r'\s*(?:public|private|protected)\s*:(?!:)')
_BLOCK = None  # a function's body or an initialiser


class Unreadable(Exception):
    def __init__(self, line, what):
        super().__init__(what)
        self.line = line


def _without(text):
    """Comments, literals and preprocessor lines become blanks; newlines stay, so that lines keep their number."""

    def blank(found):
        kept = '""' if found[0][0] in '"R' else ''
        return kept + ' ' + '\n' * found[0].count('\n')

    return _DROPPED.sub(blank, text)


def _without_template(head):
    """`template <class T> requires ... struct X` from its struct on."""
    while found := re.match(r'\s*template\s*<', head):
        depth, at = 1, found.end()
        while at < len(head) and depth:
            depth += {'<': 1, '>': -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return re.sub(r'^\s*requires\b.*?(?=\b(?:class|struct|union)\b)', '', head, flags=re.DOTALL)


def _opened_by(head):
    """What a brace after `head` opens: names to add to those around it, or _BLOCK."""
    while found := _ACCESS.match(head):
        head = head[found.end():]
    head = head.strip()
    if found := _NAMESPACE.match(head):
        # '' is an anonymous namespace: nothing in it is seen from outside.
        return 'namespace', found['name'].split('::') if found['name'] else ['']
    if re.fullmatch(r'extern\s*""', head):
        return 'namespace', []
    if found := _TYPE.match(_without_template(head).strip()):
        return 'type', [re.sub(r'\s+', '', found['name'])]
    return 'block', _BLOCK


def definitions(text):
    """(line, qualified name) of each type that `text` defines for the whole program."""
    code = _without(text)
    scopes, start = [], 0
    for brace in re.finditer(r'[{};]', code):
        line = code.count('\n', 0, brace.start()) + 1
        if brace[0] == '{':
            kind, names = _opened_by(code[start:brace.start()])
            around = [name for scope in scopes for name in (scope if scope is not _BLOCK else [''])]
            if kind == 'type' and '' not in around:
                yield line, '::'.join(around + names)
            scopes.append(names)
        elif brace[0] == '}':
            if not scopes:
                raise Unreadable(line, 'more braces are closed than opened')
            scopes.pop()
        start = brace.end()
    if scopes:
        raise Unreadable(code.count('\n') + 1, 'more braces are opened than closed')


def findings(files):
    """What is wrong with `files`, a mapping of path to text, as lines to print."""
    homes, found = collections.defaultdict(list), []
    for path, text in files.items():
        try:
            for line, name in definitions(text):
                homes[name].append((path, line))
        except Unreadable as error:
            found.append(f'{path}:{error.line}: cannot be read: {error}')
    for name, places in sorted(homes.items()):
        first = places[0]
        for path, line in places[1:]:
            if path != first[0]:
                found.append(f'{path}:{line}: defines {name} again: {first[0]}:{first[1]} does already; '
                             'rename one, or put it into an anonymous namespace')
    return found


def main(paths):
    files = {}
    for path in paths:
        with open(path, encoding='utf-8') as file:
            files[path] = file.read()
    found = findings(files)
    print(*found, sep='\n', end='\n' if found else '')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
