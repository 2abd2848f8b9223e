/** V8's flags of `fleet-scheduler serve` (scheduler/fleet-scheduler.js), so that memory is that of a hub. Imported first: modules grow the heap. */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--semi-space-growth-factor=1 --heap-growing-percent=30');
