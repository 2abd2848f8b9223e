import { setFlagsFromString } from 'node:v8';

const HUB_FLAGS = [
  // The young generation keeps its first size of 1 MiB a semi-space, instead of growing to 16. This costs no CPU time.
  '--semi-space-growth-factor=1',
  // V8 runs a full collection when the heap has grown by half. One report of 8 MiB leaves 20 MiB of garbage, and the default waits
  // for several such reports.
  '--heap-growing-percent=50',
];
const DEFAULT_FLAGS = ['--semi-space-growth-factor=2', '--heap-growing-percent=0'];

/** Makes V8 collect early in a hub. Call it before the hub's modules load: loading them grows the young generation. */
export const setHubHeapFlags = (): void => {
  for (const flag of HUB_FLAGS) setFlagsFromString(flag);
};

/** Restores V8's defaults, for a hub that also builds: a build holds hundreds of megabytes and would be collected too often. */
export const resetHeapFlags = (): void => {
  for (const flag of DEFAULT_FLAGS) setFlagsFromString(flag);
};
