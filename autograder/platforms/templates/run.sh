#!/usr/bin/env bash
# PrairieLearn runs this for each submission. The fallback response remains if the grader is killed or runs out of time.
mkdir -p /grade/results
cp /grade/tests/fallback.json /grade/results/results.json
timeout --kill-after=10 540 /engine/.venv/bin/autograder mark /grade/student \
    --course /grade/tests/course --lab @LAB@ --as prairielearn --output /grade/results/results.json
exit 0 # the response reports every failure
