import { setFlagsFromString } from 'node:v8';

/** V8's defaults of the flags that fleet-scheduler.js sets for `serve`. */
const HUB_DEFAULTS = ['--semi-space-growth-factor=2', '--heap-growing-percent=0'];

/** Restores V8's defaults for a hub that also builds: a build holds hundreds of megabytes and would be collected too often. */
export const resetHubFlags = (): void => setFlagsFromString(HUB_DEFAULTS.join(' '));
