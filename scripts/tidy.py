#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on the sources that standard input names, one a line, in that order. What was found clean is not looked at
again until the source, a header of the project that it includes, its compile command, .clang-tidy or a package of the
root changes.

Prints what is found, as file:line:column: warning: ..., sorted, each once; says on standard error what it has looked at.
Exit status 0, also where something is found."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

OPTIONS = ['--quiet', '--extra-arg=-Wno-error', '--extra-arg=-Wno-unknown-warning-option']
FINDING = re.compile(r': (warning|error): ')


def digest(*parts):
    sum_ = hashlib.sha256()
    for part in parts:
        sum_.update(part if isinstance(part, bytes) else part.encode())
        sum_.update(b'\0')
    return sum_.hexdigest()


def commands_of(build, root):
    """{source, relative to `root`: its compile command, as a list} of what CMake has noted in `build`."""
    commands = {}
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        source = pathlib.Path(entry['directory'], entry['file'])
        if source.is_relative_to(root):
            commands.setdefault(str(source.relative_to(root)), entry)
    return commands


def included(entry, root):
    """The project's own files that a source includes, itself too, relative to `root`; those of the system come with
    packages. None: it does not compile."""
    command = shlex.split(entry['command'])
    if '-o' in command:
        at = command.index('-o')
        del command[at:at + 2]
    found = subprocess.run([word for word in command if word != '-c'] + ['-MM', '-MT', 'it'], cwd=entry['directory'],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if found.returncode != 0:
        return None
    names = shlex.split(found.stdout.replace('\\\n', ' '))[1:]
    paths = {pathlib.Path(os.path.normpath(pathlib.Path(entry['directory'], name))) for name in names}
    return sorted(str(path.relative_to(root)) for path in paths if path.is_relative_to(root))


class Known:
    """Sources that were found clean: a file for each, which says of what content that holds."""

    def __init__(self, folder, root, tools):
        self.folder, self.root, self.tools = folder, root, tools
        self.folder.mkdir(parents=True, exist_ok=True)

    def _record(self, source):
        return self.folder / (digest(source)[:32] + '.json')

    def _state(self, entry, files):
        command = entry['command'].replace(str(self.root), '.')  # another clone's is the same
        return {'tools': self.tools, 'command': command,
                'files': {name: digest((self.root / name).read_bytes()) for name in files}}

    def is_clean(self, source, entry):
        try:
            noted = json.loads(self._record(source).read_text())
            return noted == self._state(entry, noted['files'])
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def note(self, source, entry, files):
        record = self._record(source)
        unfinished = record.with_suffix(f'.{os.getpid()}')
        unfinished.write_text(json.dumps(self._state(entry, files)))
        unfinished.replace(record)


def header_of_openmp(folder):
    """An option by which clang finds an omp.h: that of GCC it cannot read, and its own is in another package."""
    pathlib.Path(folder, 'omp.h').write_text('extern "C" int omp_get_thread_num();\n')
    return [f'--extra-arg=-isystem{folder}']


def look_at(source, entry, arguments, known):
    """What clang-tidy says of it, in lines."""
    files = included(entry, arguments.root)  # before: what changes meanwhile is looked at again
    said = subprocess.run([arguments.clang_tidy, '-p', str(arguments.build), *OPTIONS, *arguments.more, source], cwd=arguments.root,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [line for line in said.stdout.splitlines() if FINDING.search(line)]
    if said.returncode != 0 and not lines:
        why = said.stderr.strip().splitlines()[-3:]
        lines = [f'{source}: error: clang-tidy failed: ' + ' '.join(why)]
    if not lines and files is not None:
        known.note(source, entry, files)
    return [line.replace(f'{arguments.root}/', '') for line in lines]


def tools_of(arguments):
    """Of what the verdict depends besides the project's own files."""
    version = subprocess.run([arguments.clang_tidy, '--version'], stdout=subprocess.PIPE, check=True).stdout
    packages = pathlib.Path('/var/lib/dpkg/status')
    return digest(version, (arguments.root / '.clang-tidy').read_bytes(), ' '.join(OPTIONS),
                  packages.read_bytes() if packages.exists() else b'')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, required=True, help='has compile_commands.json')
    parser.add_argument('--known', type=pathlib.Path, required=True, help='folder that keeps what was found clean')
    parser.add_argument('--seconds', type=float, help='begin none after this time')
    parser.add_argument('--clang-tidy', default='clang-tidy')
    arguments = parser.parse_args()
    arguments.root, arguments.build = pathlib.Path.cwd(), arguments.build.resolve()
    arguments.known = arguments.known.resolve()
    end = time.monotonic() + arguments.seconds if arguments.seconds is not None else None
    commands = commands_of(arguments.build, arguments.root)
    sources = [name for name in dict.fromkeys(sys.stdin.read().splitlines()) if name in commands]
    known = Known(arguments.known, arguments.root, tools_of(arguments))
    new = [source for source in sources if not known.is_clean(source, commands[source])]
    left, found = [], set()

    def one(source):
        if end is not None and time.monotonic() >= end:
            left.append(source)
        else:
            found.update(look_at(source, commands[source], arguments, known))

    with tempfile.TemporaryDirectory() as headers, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        arguments.more = header_of_openmp(headers)
        list(pool.map(one, new))
    for line in sorted(found):
        print(line)
    told = f'lint: clang-tidy looked at {len(new) - len(left)} sources, {len(sources) - len(new)} were known to be clean'
    if left:
        told += f'; not at {len(left)} more for want of time: ./dev lint --all does'
    print(told, file=sys.stderr)


if __name__ == '__main__':
    main()
