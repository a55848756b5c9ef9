#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# the page of empi dashboard shows jobs, decisions and sizes in a browser, headless chromium
# full: a root with chromium is made for it (five minutes, 600 MB more)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
said=$(EMPI_WITH=chromium ./dev test full -R '^empi_dashboard_browser$' | tee /dev/stderr)
# Skipped is not enough.
grep 'empi_dashboard_browser.* Passed' <<<"$said" >/dev/null || { echo 'not so: the page is as it should be in chromium' >&2; exit 1; }
