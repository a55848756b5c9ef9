# SPDX-License-Identifier: Apache-2.0
"""What ./dev lint finds in a small checkout, and that it finds nothing else: one mistake of each kind, and its like that is
none."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
PATIENCE = 300  # s; the machine may be busy
SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

# What the checks themselves read.
CLEAN = {
    "scripts/lint.sh": (PROJECT / "scripts/lint.sh").read_text(),
    "scripts/duplicate_names.py": (PROJECT / "scripts/duplicate_names.py").read_text(),
    "e2e/cases/run.sh": (PROJECT / "e2e/cases/run.sh").read_text(),
    "e2e/cases/cluster/kept.sh": "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n# A promise is kept.\ntrue\n",
    "e2e/cases/host/held.sh": "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n# A promise is held.\ntrue\n",
    ".clang-format": (PROJECT / ".clang-format").read_text(),
    "dev": "#!/usr/bin/env bash\ntrue\n",
    ".ci/run": "#!/usr/bin/env bash\ntrue\n",
    "docs/decisions.md": "### R1 One\n\n### Q2 Two\n\n| seed 001 | a thesis |\n",
    "docs/openmpi.md": "### late-names\n",
    "docs/protocol.md": "### GET /v1/job\n\n### GET /metrics\n",
    "runtime/protocol/names.hpp": SPDX + '// Names.\n#pragma once\ninline constexpr char kHome[] = "EMPI_HOME";\n'
                                         'inline constexpr char kJob[] = "/v1/job";\n',
    "runtime/protocol/metrics.hpp": SPDX + '// Metrics.\n#pragma once\ninline constexpr char kRanks[] = "empi_ranks";\n',
    "runtime/agent/http_api.cpp": SPDX + "void serve(Server& server) { server.Get(paths::kJob, job); }\n",
    "runtime/sidecar/server.cpp": SPDX + 'void serve(Server& server) { server.Get("/metrics", metrics); }\n',
}


class Lint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="empi-lint-cache.")  # of what was found clean
        cls.addClassCleanup(cls.cache.cleanup)

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="empi-lint."))
        self.addCleanup(shutil.rmtree, self.root)

    def found(self, variables=None, **files):
        """What is said of a checkout that has these files, beside or instead of the clean ones; with these variables of the
        environment, too."""
        for name, text in (CLEAN | files).items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"CCACHE_DIR": f"{self.cache.name}/ccache"} | (variables or {})
        subprocess.run(["git", "init", "--quiet"], cwd=self.root, env=environment, check=True)
        subprocess.run(["git", "add", "--all"], cwd=self.root, env=environment, check=True)
        done = subprocess.run(["bash", self.root / "scripts/lint.sh"], cwd="/", env=environment, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode == 0, not done.stdout, done)
        return sorted(done.stdout.splitlines())

    def finds(self, files, *expected):
        """Exactly these lines, each given by how it begins and a word of its reason."""
        found = self.found(**files)
        self.assertEqual(len(found), len(expected), found)
        for line, (place, reason) in zip(found, sorted(expected)):
            self.assertTrue(line.startswith(place + ":") and reason in line, (line, place, reason))

    def test_nothing_in_a_clean_checkout(self):
        self.assertEqual(self.found(), [])

    def test_who_includes_whom(self):
        self.finds({"operator/decide/pure.cpp": SPDX + '#include <mpi.h>\n\n#include "operator/kube/client.hpp"\n',
                    "operator/decide/queue/pass.cpp": SPDX + '#include "runtime/protocol/names.hpp"\n',
                    "operator/decide/pure_test.cpp": SPDX + '#include "operator/kube/client.hpp"\n',
                    "operator/kube/client.cpp": SPDX + '#include "operator/api/job.hpp"\n',
                    "apps/io/words.cpp": SPDX + '#include <mpi.h>\n\n#include "runtime/base/text.hpp"\n#include "runtime/rank/rank.hpp"\n'},
                   ("operator/decide/pure.cpp:2", "no MPI"), ("operator/decide/pure.cpp:4", "deciding is pure"),
                   ("operator/decide/queue/pass.cpp:2", "is pure"), ("apps/io/words.cpp:5", "what is installed"))

    def test_names_have_one_home(self):
        self.finds({"runtime/agent/pod.cpp": SPDX + 'const char* of() { return getenv("EMPI_HOME"); }\n',
                    "runtime/agent/pod_test.cpp": SPDX + 'const char* of() { return getenv("EMPI_HOME"); }\n',
                    "runtime/sidecar/page.cpp": SPDX + 'auto ranks() { return "empi_ranks"; }\nauto other() { return "empi_rank"; }\n'},
                   ("runtime/agent/pod.cpp:2", "EMPI_HOME"), ("runtime/sidecar/page.cpp:2", "a metric"))

    def test_what_is_cited_exists(self):
        self.finds({"runtime/agent/lead.cpp": SPDX + "// Decision R1's window, rule Q2, seed 001, quirk late-names; docs/openmpi.md\n"
                                                     "// Decision R7.\n// Seed 004.\n// quirk early-names\n// docs/nosuch.md\n",
                    "README.md": "[here](docs/openmpi.md#late-names) [there](docs/nosuch.md) [elsewhere](https://example.org/x.md)\n"},
                   ("runtime/agent/lead.cpp:3", "Decision R7"), ("runtime/agent/lead.cpp:4", "Seed 004"),
                   ("runtime/agent/lead.cpp:5", "quirk early-names"), ("runtime/agent/lead.cpp:6", "docs/nosuch.md"),
                   ("README.md:1", "links to docs/nosuch.md"))

    def test_what_is_quoted_is_there(self):
        source = {"apps/io/loop.cpp": SPDX + "int begin();\nint end();\n"}
        self.assertEqual(self.found(**source, **{"README.md": "As `apps/io/loop.cpp`:\n\n```\nint begin();\nint end();\n```\n"}), [])
        self.finds(source | {"README.md": "As `apps/io/loop.cpp`:\n\n```\nint end();\nint begin();\n```\n"}, ("README.md:5", "no such line"))

    def test_each_route_is_described(self):
        self.finds({"docs/protocol.md": "### GET /v1/job\n\n### PUT /v1/wish\n"},
                   ("docs/protocol.md:1", "lacks a heading for GET /metrics"), ("docs/protocol.md:1", "PUT /v1/wish, which is not served"))

    def test_each_case_promises_something(self):
        self.finds({"e2e/cases/host/mute.sh": "#!/usr/bin/env bash\n# SPDX-License-Identifier: Apache-2.0\n\ntrue\n"},
                   ("e2e/cases/host/mute.sh:3", "promised"))

    def test_text_is_for_people(self):
        self.finds({"operator/controller/look.cpp": SPDX + 'bool full(const Pod& p) { return p.reason.find("full") == 0; }\n'
                                                           'bool gone(const Pod& p) { return p.message == "gone"; }\n'
                                                           'bool said(const Pod& p) { return p.message != ""; }\n'
                                                           'bool word(const Pod& p) { return p.text.find("full") == 0; }\n',
                    "operator/kube/look.cpp": SPDX + 'bool gone(const Pod& p) { return p.reason == "Gone"; }\n',
                    "operator/controller/look_test.cpp": SPDX + 'bool gone(const Pod& p) { return p.message == "gone"; }\n'},
                   ("operator/controller/look.cpp:2", "an enum"), ("operator/controller/look.cpp:3", "an enum"))

    def test_constants_are_called_k(self):
        self.finds({"apps/io/sizes.cpp": SPDX + "constexpr int largest = 3;\nstatic const char* const words[] = {};\nconstexpr int kMost = 4;\n"
                                                "constexpr double g{9.81};\nint f() {\n  const int inside = 1;\n  return inside;\n}\n"},
                   ("apps/io/sizes.cpp:2", "largest"), ("apps/io/sizes.cpp:3", "words"))

    def test_a_header_says_what_it_is_for(self):
        line = "a comment that says what the file is for"
        self.finds({"apps/io/mute.hpp": SPDX + "#pragma once\nint f();\n", "apps/io/late.hpp": SPDX + "#pragma once\n// Late.\nint f();\n",
                    "apps/io/blank.h": SPDX + "\n#pragma once\n// Blank.\nint f();\n", "apps/io/whose.hpp": "// Whose.\n// What.\n#pragma once\nint f();\n",
                    "apps/io/good.hpp": SPDX + "// Good.\n#pragma once\nint f();\n"},
                   ("apps/io/mute.hpp:2", line), ("apps/io/late.hpp:2", line), ("apps/io/blank.h:2", line), ("apps/io/whose.hpp:1", "SPDX"))

    def test_what_is_not_done(self):
        mark = "TO" + "DO"
        self.finds({"apps/io/half.cpp": SPDX + f"// {mark}: the rest\n"}, ("apps/io/half.cpp:2", "unfinished"))

    def test_clean_scripts_are_looked_at_once(self):
        tools = self.root / "tools"
        tools.mkdir()
        log = tools / "log"
        (tools / "shellcheck").write_text(f"""#!/bin/sh
            if [ "$1" = --version ]; then echo "${{VERSION:-1}}"; exit; fi
            echo looked >>{log}
            if grep -q '[r]m \\$1' scripts/quote.sh; then echo 'scripts/quote.sh:2:4: note: wrong'; exit 1; fi
            """)
        (tools / "shellcheck").chmod(0o755)
        variables = {"PATH": f"{tools}:{os.environ['PATH']}", "CCACHE_DIR": f"{tools}/cache/ccache"}

        def looked(text, **more):
            log.write_text("")
            found = self.found(variables | more, **{"scripts/quote.sh": f"#!/bin/bash\n{text}\n", ".gitignore": "tools\n"})
            return len(log.read_text().splitlines()), found

        wrong = ["scripts/quote.sh:2:4: note: wrong"]
        self.assertEqual(looked("rm $1"), (1, wrong))
        self.assertEqual(looked("rm $1"), (1, wrong))
        self.assertEqual(looked('rm "$1"'), (1, []))
        self.assertEqual(looked('rm "$1"'), (0, []))
        self.assertEqual(looked('rm "$2"'), (1, []))
        self.assertEqual(looked('rm "$1"', VERSION="2"), (1, []))
        self.assertEqual(looked('rm "$1"', CCACHE_DIR="/proc/none"), (1, []))
        self.assertEqual(looked('rm "$1"'), (0, []))

    def test_forms(self):
        self.finds({"apps/io/wide.cpp": SPDX + "int   f();\n", "scripts/quote.sh": '#!/bin/bash\nrm $1\n',
                    "operator/api/one.cpp": SPDX + "namespace emj {\nstruct Pass {};\n}  // namespace emj\n",
                    "operator/api/two.cpp": SPDX + "namespace emj {\nclass Pass {};\n}  // namespace emj\n"},
                   ("apps/io/wide.cpp:2", "clang-format"), ("scripts/quote.sh:2", "SC2086"), ("operator/api/two.cpp:3", "defines emj::Pass again"))


if __name__ == "__main__":
    missing = [name for name in ("git", "clang-format", "shellcheck") if not shutil.which(name)]
    if missing:
        print(f"skipped: there is no {' and no '.join(missing)}")
        sys.exit(77)
    unittest.main()
