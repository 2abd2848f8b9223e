import { Worker } from 'node:worker_threads';
import { MAX_INPUT } from './mutate-bytes.ts';
import type { Task, Told } from './worker.ts';

export type Finding = { readonly error: string; readonly input: Buffer; readonly number: number };

export type TargetRun = {
  readonly cases: number;
  readonly accepted: number;
  /** Kinds of answers that were seen. */
  readonly answers: number;
  readonly slowestMs: number;
  /** Of the whole process, bytes. */
  readonly peakBytes: number;
  readonly findings: readonly Finding[];
};

/** A parser of a document of a megabyte has this long; on a machine that is busy with other things, this much of it. */
const DEADLINE = { wallMs: 10_000, cpuMs: 5000 };
/** And one that waits for something, not for the processor. */
const WAIT_MS = 60_000;
/** By how many bytes a worker may let the process grow: its heap, and buffers of what it reads. The process may hold more from before. */
const MAX_GROWTH = 900 << 20;
const HEAP_MB = 256;
/** So often a thread is started anew behind a case that ended it. */
const MAX_ROUNDS = 10;

/** One target in a thread of its own for so long. A case that hangs or eats memory ends the thread and is a finding. */
export const supervise = async (
  target: string,
  seed: number,
  milliseconds: number,
  deadline = DEADLINE,
): Promise<TargetRun> => {
  const findings: Finding[] = [];
  let [cases, accepted, answers, slowestMs] = [0, 0, 0, 0];
  let left = milliseconds;
  for (let round = 0; left > 0 && round < MAX_ROUNDS; round++) {
    const state = new SharedArrayBuffer(8);
    const input = new SharedArrayBuffer(MAX_INPUT * 2);
    const counters = new Int32Array(state);
    const task: Task = { target, seed: seed + round, milliseconds: left, state, input };
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    const end = Promise.withResolvers<string | undefined>();
    worker.on('message', (told: Told) => {
      if (told.kind === 'finding') {
        findings.push({ error: told.error, input: Buffer.from(told.input), number: told.number });
        return;
      }
      accepted += told.accepted;
      answers = Math.max(answers, told.answers);
      slowestMs = Math.max(slowestMs, told.slowestMs);
      end.resolve(undefined);
    });
    worker.on('error', (error) => end.resolve(error.stack ?? String(error)));
    worker.on('exit', (code) => end.resolve(`the thread ended with ${code} and said nothing`));
    const begin = Date.now();
    const held = process.memoryUsage.rss();
    let [last, since, cpu] = [-1, begin, process.cpuUsage()];
    const watch = setInterval(() => {
      const now = Atomics.load(counters, 0);
      const [wall, { user, system }] = [Date.now() - since, process.cpuUsage(cpu)];
      if (now !== last) [last, since, cpu] = [now, Date.now(), process.cpuUsage()];
      else if (
        now > 0 &&
        (wall > WAIT_MS || (wall > deadline.wallMs && (user + system) / 1000 > deadline.cpuMs))
      )
        end.resolve(`it ran for ${wall} ms and did not end`);
      if (process.memoryUsage.rss() - held > MAX_GROWTH)
        end.resolve(`the process grew by more than ${MAX_GROWTH} bytes`);
    }, 50);
    const failure = await end.promise;
    clearInterval(watch);
    await worker.terminate();
    cases += Atomics.load(counters, 0);
    left -= Date.now() - begin;
    if (failure === undefined) break;
    const length = Atomics.load(counters, 1);
    const number = Atomics.load(counters, 0) - 1;
    if (number < 0) throw new Error(`the target ${target} did not start: ${failure}`);
    findings.push({ error: failure, input: Buffer.from(Buffer.from(input).subarray(0, length)), number });
  }
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  return { cases, accepted, answers, slowestMs, peakBytes, findings };
};
