import { setFlagsFromString } from 'node:v8';

/** Flags of one build, render or validate. A build of 50,000 assignments takes about 7 % more CPU time with 30,000 calls. */
const BUILD = [
  // Many more calls before a function is optimised a second time. That compiler runs on its own threads and costs more CPU time than
  // it saves in a run of a few seconds; a run of minutes still gets there.
  '--invocation-count-for-turbofan=200000',
];

const HUB = [
  // The young generation keeps its first size of 1 MiB a semi-space, instead of growing to 16. This costs no CPU time.
  '--semi-space-growth-factor=1',
  // V8 runs a full collection when the heap has grown by half. One report of 8 MiB leaves 20 MiB of garbage, and the default waits
  // for several such reports.
  '--heap-growing-percent=50',
];
const HUB_DEFAULTS = ['--semi-space-growth-factor=2', '--heap-growing-percent=0'];

/**
 * Sets the V8 flags of a command. Call it before the command's modules load: loading them grows the young generation.
 * @param verb first word of the command line
 */
export const setFlags = (verb: string | undefined): void => {
  if (verb === 'build' || verb === 'render' || verb === 'validate') setFlagsFromString(BUILD.join(' '));
  if (verb === 'serve') setFlagsFromString(HUB.join(' '));
};

/** Restores V8's defaults for a hub that also builds: a build holds hundreds of megabytes and would be collected too often. */
export const resetHubFlags = (): void => setFlagsFromString(HUB_DEFAULTS.join(' '));
