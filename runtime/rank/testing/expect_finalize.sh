#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs finalize_program on one rank and compares what it prints and how it exits. $@: the command.
expected='deleted second
finalizing
deleted third
deleted first
initialized 1 finalized 1
atexit
destructor'
actual=$("$@")
code=$?
[ "$code" = 3 ] || { echo "exit status $code, expected 3" >&2; exit 1; }
[ "$actual" = "$expected" ] || { printf 'printed\n%s\nexpected\n%s\n' "$actual" "$expected" >&2; exit 1; }
