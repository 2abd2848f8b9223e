import { setFlagsFromString } from 'node:v8';

const FLAGS = [
  '--invocation-count-for-maglev=4000',
  '--invocation-count-for-turbofan=30000',
  // Both are needed.
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
];

/**
 * For a run that talks to a registry: it is over in a second or waits for a network, and what V8 optimises meanwhile on threads of
 * its own takes more CPU time and memory than it gives back. So a function gets there after ten times as many calls, which it
 * still does in minutes of work; and the HTTP parser, which is WebAssembly, not at all. For 61 answers that was a quarter of all CPU
 * time, and of the memory.
 *
 * To be called when the HTTP client is loaded: after it, V8 compiles Node's own modules anew instead of taking what Node brings.
 */
export const compileLate = (): void => {
  for (const flag of FLAGS) setFlagsFromString(flag);
};
