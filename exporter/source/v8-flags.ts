import { setFlagsFromString } from 'node:v8';

/** Flags of every command that talks to a registry. They took a `plan` from 187 to 138 ms of CPU time and from 95 to 75 MiB. */
const REGISTRY = [
  // Ten times as many calls before a function is optimised. The compilers run on their own threads and cost more CPU time and memory
  // than they save in a run of a second or a run that waits for a network; a run of minutes still gets there.
  '--invocation-count-for-maglev=4000',
  '--invocation-count-for-turbofan=30000',
  // The HTTP parser is WebAssembly. Optimising it takes a quarter of the CPU time of 61 responses. Both flags are needed.
  '--no-wasm-tier-up',
  '--no-wasm-dynamic-tiering',
];

/** Flags of a command that moves blobs. */
const TRANSFER = [
  // Gigabytes pass through short-lived 64 KiB buffers, and V8 takes their memory for a reason to collect its own heap, some twenty
  // times for 500 MB and on threads that transfers need. One thread without increments is enough for a heap this small.
  '--single-threaded-gc',
  '--no-incremental-marking',
  // A small young generation frees the buffers sooner.
  '--semi-space-growth-factor=1',
];

/**
 * Sets the V8 flags of a command that talks to a registry. Call it after the HTTP client is loaded: V8 would otherwise compile Node's
 * own modules instead of taking them from Node's snapshot.
 */
export const setRegistryFlags = (): void => setFlagsFromString(REGISTRY.join(' '));

/** Sets the V8 flags of create and push. Call it before the first large blob. */
export const setTransferFlags = (): void => setFlagsFromString(TRANSFER.join(' '));
