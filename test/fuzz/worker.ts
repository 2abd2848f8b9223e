import { parentPort, workerData } from 'node:worker_threads';
import { inputsOf, runCase } from './one-case.ts';
import { randomOf } from './random.ts';
import type { Target } from './target.ts';
import { TRAPS } from './traps.ts';

/** Runs cases of one target until its time is over; what it works on lies where the supervisor can see it if this never ends. */
export type Task = {
  readonly target: string;
  readonly seed: number;
  /** From when its first case begins: on a busy machine, getting there takes a while. */
  readonly milliseconds: number;
  /** Cases begun; length of the input. */
  readonly state: SharedArrayBuffer;
  readonly input: SharedArrayBuffer;
};

export type Told =
  | { readonly kind: 'finding'; readonly error: string; readonly input: Uint8Array; readonly number: number }
  | { readonly kind: 'end'; readonly accepted: number; readonly answers: number; readonly slowestMs: number };

const { target: name, seed, milliseconds, state, input: shared } = workerData as Task;
const isNamed = (it: Target): boolean => it.name === name;
// The targets load most of the product, which a trap does not need.
const target = TRAPS.find(isNamed) ?? (await import('./targets.ts')).TARGETS.find(isNamed);
if (!target) throw new Error(`there is no target ${name}`);

const counters = new Int32Array(state);
const bytes = Buffer.from(shared);
const tell = (told: Told): void => parentPort?.postMessage(told);
process.on('unhandledRejection', (error) => {
  throw error;
});

const inputs = inputsOf(target, randomOf(seed));
const found = new Set<string>();
let [accepted, slowestMs] = [0, 0];
const untilMs = Date.now() + milliseconds;
while (Date.now() < untilMs) {
  const input = inputs.next();
  input.copy(bytes);
  Atomics.store(counters, 1, input.length);
  const number = Atomics.add(counters, 0, 1);
  const begin = performance.now();
  const outcome = await runCase(target, input);
  slowestMs = Math.max(slowestMs, performance.now() - begin);
  inputs.note(input, outcome);
  if (outcome.kind === 'answered') {
    if (outcome.answer === 'ACCEPT') accepted++;
    continue;
  }
  // One example of each: the error and the two innermost places it came from.
  const shape = outcome.error
    .replaceAll(/"[^"]*"|\d+/g, '')
    .split('\n')
    .slice(0, 3)
    .join('\n');
  if (found.has(shape) || found.size >= 20) continue;
  found.add(shape);
  tell({ kind: 'finding', error: outcome.error, input, number });
}
tell({ kind: 'end', accepted, answers: inputs.shapes(), slowestMs });
