#!/bin/sh
# `npm start`: prepares the checkout, then becomes the server. No other process stays, so signals and the exit code are the
# server's own. Run without npm it does the same.
cd -- "$(dirname -- "$0")/.." || exit
runtime=$(node scripts/bootstrap.js console server runtime) || exit
# Compiled code is kept beside the checkout.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/.cache/compile}"
# Two malloc arenas instead of one per thread keep some 3 MB free, and cost nothing where malloc is not the bottleneck.
export MALLOC_ARENA_MAX="${MALLOC_ARENA_MAX:-2}"
exec "$runtime" dist/server/main.js "$@"
