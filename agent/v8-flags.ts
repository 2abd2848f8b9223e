/**
 * The V8 flags of the bundled agent as a daemon (`fleet-agent run`). The daemon is idle nearly always, so memory matters more than
 * speed; its work is bound by disks, networks and API servers. Other commands, and `run --once`, keep V8's defaults. Imported first,
 * because V8 does not release memory that modules evaluated earlier have taken. The figures are MiB saved on a connected host.
 */
import { setFlagsFromString } from 'node:v8';

const DAEMON = [
  // The heap grows in smaller steps: 6.
  '--optimize-for-size',
  // The compilers' own code is not paged in, and no optimised code is kept: 6 and, with 1,000 objects, 4. Applying those objects
  // takes the same CPU time with and without.
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  // The HTTP parser is WebAssembly. Optimising it after some requests costs 42 for a moment and 4 permanently. Both flags are needed.
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
  // Code that was not run since the last collection is dropped, instead of after six of them.
  '--bytecode-old-age=1',
];

const isDaemon = process.argv[2] === 'run' && !process.argv.includes('--once');
if (isDaemon) setFlagsFromString(DAEMON.join(' '));
