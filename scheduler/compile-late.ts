import { setFlagsFromString } from 'node:v8';

/**
 * For a run that builds once: a function goes to V8's second optimising compiler after ten times as many calls. That one works on
 * threads of its own, and takes more CPU time than code of a run of a few seconds gives back; what runs for minutes still gets there
 * (docs/benchmarks.md).
 */
export const compileLate = (): void => setFlagsFromString('--invocation-count-for-turbofan=30000');
