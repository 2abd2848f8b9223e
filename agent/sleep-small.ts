/**
 * Before anything else of the bundled agent is evaluated: as a daemon it sleeps nearly always, so memory is worth more than
 * speed. What it does in a second of work a day later is bound by disks, networks and API servers; a person's `import` and
 * the other commands keep V8 as it is. MiB saved are those of a connected host (docs/benchmarks.md has the whole).
 */
import { setFlagsFromString } from 'node:v8';

const FLAGS = [
  // A heap that grows in smaller steps: 6.
  '--optimize-for-size',
  // Without compilers their code is not paged in, nor what they make kept: 6 and, with 1,000 objects, 4. To apply these
  // takes as much CPU with them as without.
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  // The HTTP parser is WebAssembly. Optimised after some requests, it costs 42 for a moment and 4 for ever; both are needed.
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
  // Code that was not run since the last collection is dropped, not after six of them.
  '--bytecode-old-age=1',
];

if (process.argv[2] === 'run') setFlagsFromString(FLAGS.join(' '));
