#!/bin/sh
# Build the extension with AddressSanitizer and UndefinedBehaviorSanitizer in a folder of its own and
# run the tests of the native code under it. Needs g++ with libasan; PYTHON is the interpreter with
# the development extras (python3 by default). The tests are stopped after ASAN_SECONDS (900).
#
#     tools/asan.sh [pytest arguments]
set -eu
PYTHON=${PYTHON:-python3}
case $PYTHON in */*) PYTHON=$(cd "$(dirname "$PYTHON")" && pwd)/$(basename "$PYTHON") ;; esac
ROOT=$(cd "$(dirname "$0")/.." && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

cp -R "$ROOT/src" "$ROOT/native" "$ROOT/setup.py" "$ROOT/pyproject.toml" "$WORK"
cp "$ROOT/README.md" "$ROOT/LICENSE" "$ROOT/NOTICE" "$WORK"
rm -f "$WORK"/src/pincite/_native*.so
cd "$WORK"
# -O1 keeps the traces readable. Errors end the process, so that no test can pass over one.
CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1" \
LDFLAGS="-fsanitize=address,undefined" \
    "$PYTHON" setup.py -q build_ext --inplace -j"$(nproc)"
ls src/pincite/_native*.so >/dev/null

cd "$ROOT"
# What runs in processes of its own is left out: a process takes ten times as long to start here.
[ $# -gt 0 ] || set -- tests/unit/test_native.py tests/unit/text/test_kernels.py \
    tests/unit/bm25/test_builder.py tests/unit/bm25/test_search.py tests/unit/bm25/test_segment.py \
    tests/unit/bm25/test_compact.py tests/property/test_bm25_kernels.py \
    tests/unit/dense/test_search.py tests/unit/dense/test_vectors.py \
    tests/unit/dense/test_narrow.py tests/property/test_fusion_kernels.py \
    tests/property/test_damage.py tests/property/test_bm25.py \
    -k "not process and not plane"
# Python frees little at its end: leaks are not looked for. The interpreter is not instrumented, so
# the runtime has to be loaded before it.
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)" \
ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 \
UBSAN_OPTIONS=print_stacktrace=1 \
PYTHONMALLOC=malloc PYTHONPATH="$WORK/src" \
    timeout "${ASAN_SECONDS:-900}" "$PYTHON" -m pytest -p no:cacheprovider \
    --numprocesses "$(nproc)" --dist loadfile "$@"
