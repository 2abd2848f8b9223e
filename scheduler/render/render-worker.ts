import { parentPort, workerData } from 'node:worker_threads';
import { arrivedLayers } from '../compose/portable-value.ts';
import { createRenderer, isHeld } from './create-renderer.ts';
import type { WorkerAnswer, WorkerQuestion } from './render-all.ts';

/** One thread of renderAll: renders its run of assignments and posts them back. */
const { platform, schedule, from, to } = workerData as WorkerQuestion;
const render = createRenderer({ ...platform, configs: arrivedLayers(platform.configs) });
const packages: WorkerAnswer['packages'][number][] = [];
const held: WorkerAnswer['held'][number][] = [];
for (const [offset, assignment] of schedule.assignments.slice(from, to).entries()) {
  const rendered = render(assignment);
  const index = from + offset;
  if (isHeld(rendered)) {
    const { code, message, subject, at, hint } = rendered.error;
    held.push({ index, error: { code, message, subject, at, hint } });
  } else {
    const { assignment: _, ...value } = rendered;
    packages.push({ index, value });
  }
}
parentPort?.postMessage({ packages, held } satisfies WorkerAnswer);
