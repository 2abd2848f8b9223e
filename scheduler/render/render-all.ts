import { Worker } from 'node:worker_threads';
import { type ErrorCode, FleetError, type Place } from '#bundles/errors';
import { portableLayers } from '../compose/portable-value.ts';
import type { Platform } from '../platform/model.ts';
import type { Schedule } from '../schedule/schedule-platform.ts';
import { type RenderResult, renderPlatform } from './render-platform.ts';

/** What a worker sends back: errors do not survive the way with their class, so they travel as data. */
export type WorkerAnswer = {
  readonly packages: readonly {
    readonly index: number;
    readonly value: Omit<RenderResult['packages'][number], 'assignment'>;
  }[];
  readonly held: readonly { readonly index: number; readonly error: PlainError }[];
};

export type PlainError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly subject: string | undefined;
  readonly at: Place | undefined;
  readonly hint: string | undefined;
};

export type WorkerQuestion = {
  readonly platform: Platform;
  readonly schedule: Schedule;
  readonly from: number;
  readonly to: number;
};

/**
 * Renders a schedule on several threads. Each takes a run of assignments; the answers are put back by index, so the number of
 * workers changes nothing but the time.
 */
export const renderAll = async (
  platform: Platform,
  schedule: Schedule,
  workers: number,
  signal: AbortSignal,
): Promise<RenderResult> => {
  const { assignments } = schedule;
  const count = Math.min(workers, assignments.length);
  if (count <= 1) return renderPlatform(platform, schedule);
  const share = Math.ceil(assignments.length / count);
  // Errors are class instances with causes that may not be cloned; the workers need none of them.
  const plain = {
    ...platform,
    configs: portableLayers(platform.configs),
    advice: [],
    heldWorkloads: [],
  };
  const bare = { assignments, held: [], advice: [] };
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      ask(
        {
          platform: plain,
          schedule: bare,
          from: index * share,
          to: Math.min((index + 1) * share, assignments.length),
        },
        signal,
      ),
    ),
  );
  const at = (index: number) => {
    const assignment = assignments[index];
    if (!assignment)
      throw new FleetError('INTERNAL', `a worker rendered assignment ${index}, which nobody asked for`);
    return assignment;
  };
  return {
    packages: answers.flatMap(({ packages }) =>
      packages.map(({ index, value }) => ({
        ...value,
        // A Buffer arrives as the plain Uint8Array it is made of.
        files: value.files.map(({ path, bytes }) => ({
          path,
          bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        })),
        assignment: at(index),
      })),
    ),
    held: [
      ...schedule.held,
      ...answers.flatMap(({ held }) =>
        held.map(({ index, error }) => ({
          assignment: at(index),
          error: new FleetError(error.code, error.message, error),
        })),
      ),
    ],
  };
};

const ask = (question: WorkerQuestion, signal: AbortSignal): Promise<WorkerAnswer> => {
  const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswer>();
  const worker = new Worker(new URL('./render-worker.ts', import.meta.url), { workerData: question });
  const stop = (): void => {
    void worker.terminate();
    reject(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', (code) => {
    signal.removeEventListener('abort', stop);
    reject(new FleetError('INTERNAL', `a rendering thread ended with code ${code} and no answer`));
  });
  return promise;
};
