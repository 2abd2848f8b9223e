import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { redact } from '../../../secrets/redact.ts';
import { readDpkg } from '../debs/dpkg-state.ts';
import { whileMarking } from '../debs/marks.ts';
import type { Run } from '../host-options.ts';
import { firstOf, lastOf, shownOutput } from '../shown-output.ts';
import { performDebs } from './perform-debs.ts';
import { performImage } from './perform-image.ts';
import { performPlaybook } from './perform-playbook.ts';
import { performSetting } from './perform-setting.ts';
import type { PlaybookReport, RunnerRequest, RunnerResult } from '../step-request.ts';
import {
  layOutContent,
  readRequest,
  readResult,
  type StoredResult,
  stepFolder,
  writeResult,
} from './step-folder.ts';
import type { StepEnd, StepWork } from './step-work.ts';

/**
 * Performs a stored request and stores its result; one that has a result is not performed again. The content is verified against
 * the store first. A failed step, a timeout and a refused request are results.
 * @throws FleetError ABORTED, without a result: the step is performed again. REFERENCE_MISSING without a request; IO, DISK_FULL when no
 *   result can be stored
 */
export const performRequest = async (
  { state, run }: { readonly state: string; readonly run: Run },
  id: string,
  signal: AbortSignal,
): Promise<StoredResult> => {
  const folder = stepFolder(state, id);
  const earlier = await readResult(folder);
  if (earlier) return earlier;
  const result = await resultOf(folder, { state, run, id, signal });
  await writeResult(folder, result);
  return result;
};

type Performing = {
  readonly state: string;
  readonly run: Run;
  readonly id: string;
  readonly signal: AbortSignal;
};

const resultOf = async (folder: string, { state, run, id, signal }: Performing): Promise<StoredResult> => {
  const scratch = join(folder, 'scratch');
  try {
    const request = await readRequest(folder, id);
    const content = await layOutContent(state, folder, request.content, signal);
    await rm(scratch, { recursive: true, force: true });
    return await within(request, signal, (limited) =>
      performStep(request, {
        state,
        content,
        scratch,
        run: (argv, options) => run(argv, { ...options, mark: id }),
        signal: limited,
      }),
    );
  } catch (error) {
    if (signal.aborted) throw new FleetError('ABORTED', 'the step was stopped', { cause: signal.reason });
    // The agent removed the request, or died before it wrote it again: a result would be that of the next one.
    if (isFleetError(error, 'REFERENCE_MISSING')) throw error;
    const { code, message } = toFleetError(error);
    return { outcome: 'refused', error: { code, message } };
  } finally {
    for (const path of [scratch, join(folder, 'content')]) await rm(path, { recursive: true, force: true });
  }
};

const performStep = (request: RunnerRequest, work: StepWork): Promise<StepEnd> => {
  switch (request.kind) {
    case 'debs':
      return whileMarking(
        request.ours ?? [],
        () => readDpkg(work),
        () => performDebs(request, work),
      );
    case 'playbook':
      return performPlaybook(request, work);
    case 'setting':
      return performSetting(request, work);
    case 'image':
      return performImage(request, work);
  }
};

const within = async (
  { timeoutSeconds, secrets }: RunnerRequest,
  signal: AbortSignal,
  perform: (signal: AbortSignal) => Promise<StepEnd>,
): Promise<RunnerResult> => {
  const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
  try {
    const { code, stdout, stderr, message, report, surroundings, note } = await perform(
      AbortSignal.any([signal, timeout]),
    );
    const joined = `${stdout.trim()}\n${stderr.trim()}`;
    const output = shownOutput(redact(joined, secrets, joined.length));
    return defined({
      outcome: message === undefined ? 'succeeded' : 'failed',
      code,
      message: message === undefined ? 'done' : redact(message, secrets, message.length),
      first: firstOf(output),
      last: lastOf(output),
      report: report ? withoutSecrets(report, secrets) : undefined,
      surroundings: message !== undefined && surroundings !== undefined ? surroundings : undefined,
      note: message === undefined && note !== undefined ? note : undefined,
    });
  } catch (error) {
    if (signal.aborted || !timeout.aborted || !isFleetError(error, 'ABORTED')) throw error;
    const message = `did not end within ${timeoutSeconds} s`;
    return { outcome: 'timed-out', code: 124, message, first: '', last: '' };
  }
};

/** Redacts every text of the report: names of tasks and of changed files may hold values of variables. */
const withoutSecrets = (report: PlaybookReport, secrets: readonly string[]): PlaybookReport =>
  JSON.parse(JSON.stringify(report), (_key, value: unknown) =>
    typeof value === 'string' ? redact(value, secrets, value.length) : value,
  ) as PlaybookReport;
