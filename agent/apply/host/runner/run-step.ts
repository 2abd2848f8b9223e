import { readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { canonicalBytes } from '#bundles/json/canonical';
import { CODES, type ErrorCode, FleetError } from '#bundles/errors';
import { errno, hostError, stopIfAborted } from '../host-error.ts';
import { isFull } from '../../../store/state.ts';
import type { CommandResult, HostTargetOptions } from '../host-options.ts';
import { killAll, markedBy } from '../processes.ts';
import { systemctl } from '../systemd/systemctl.ts';
import { performRequest } from './perform-request.ts';
import type { RunnerRequest, RunnerResult } from '../step-request.ts';
import {
  hasRequest,
  idOf,
  readResult,
  removeRequest,
  runnerUnit,
  type StoredResult,
  stepFolder,
  stepsFolder,
  writeRequest,
} from './step-folder.ts';

/**
 * Runs one step as root, apart from the restricted daemon: stores the request, starts its unit and returns the unit's result. Without
 * that unit the step runs in this process. After a power cut the caller repeats the request: it gets the stored result, joins
 * the unit that still runs, or runs the step again. A step must therefore be repeatable. Stopping the signal stops the step.
 * @throws FleetError ABORTED; PERMISSION where the process is restricted and the unit is not installed; APPLY_FAILED if the unit ends
 *   without a result; the error of a refused request: MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL
 */
export const runStep = async (
  request: RunnerRequest,
  options: HostTargetOptions,
  signal: AbortSignal,
): Promise<RunnerResult> => {
  stopIfAborted(signal);
  const bytes = canonicalBytes(request);
  const id = idOf(bytes);
  const folder = stepFolder(options.state, id);
  const byUnit = await hasUnit(options, id, signal);
  if (!byUnit) await refuseRestricted(options, request);
  await forgetOthers(options, id, byUnit);
  const result =
    (await readResult(folder)) ??
    (await begin(
      options,
      { id, folder, bytes, byUnit, limitMs: request.timeoutSeconds * 1000 + MARGIN_MS },
      signal,
    ));
  await rm(folder, { recursive: true, force: true });
  if (result.outcome !== 'refused') return result;
  const { code, message } = result.error;
  throw new FleetError(isCode(code) ? code : 'APPLY_FAILED', message);
};

const isCode = (text: string): text is ErrorCode => Object.hasOwn(CODES, text);

type Begun = {
  readonly id: string;
  readonly folder: string;
  readonly bytes: Uint8Array;
  readonly byUnit: boolean;
  readonly limitMs: number;
};

/** Time for starting the unit and for verifying content of many gigabytes, beside the step's own limit. */
const MARGIN_MS = 3_600_000;

const begin = async (
  options: HostTargetOptions,
  { id, folder, bytes, byUnit, limitMs }: Begun,
  signal: AbortSignal,
): Promise<StoredResult> => {
  const unit = runnerUnit(id);
  try {
    // Without the unit, what an agent that was killed had started for this step runs on.
    if (!byUnit && (await hasRequest(folder))) await killAll(markedBy(id));
    await writeRequest(folder, bytes);
    if (!byUnit) return await performRequest(options, id, signal);
    // A unit that failed before would not start again within its start limit.
    await systemctl(options, ['reset-failed', '--', unit], signal);
    const { code, stderr } = await startUnit(options, unit, limitMs, signal);
    stopIfAborted(signal);
    const result = await readResult(folder);
    if (result) return result;
    if (isFull(options.state))
      throw new FleetError('DISK_FULL', `the disk of ${options.state} is full: a step left no result`, {
        hint: 'Free some space; the agent tries again',
      });
    const said = stderr.trim().split('\n')[0] ?? '';
    throw new FleetError('APPLY_FAILED', `${unit} ended without a result (${code}): ${said}`, {
      hint: `journalctl -u ${unit} shows why`,
    });
  } catch (error) {
    if (signal.aborted && byUnit) await stopUnit(options, id);
    throw error;
  } finally {
    // It has secrets in it, so that the step can redact them. A repeated step writes it again.
    await removeRequest(folder);
  }
};

/** Milliseconds between two questions about a unit that systemctl no longer waits for, and the number of those without an answer. */
const ASK_MS = 250;
const MAX_UNANSWERED = 40;

/** Starts the unit and waits for its end, also where a systemd that is being upgraded ends the connection: then it joins the unit that runs. */
const startUnit = async (
  options: HostTargetOptions,
  unit: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<CommandResult> => {
  let unanswered = 0;
  for (;;) {
    const ended = await systemctl(options, ['start', '--', unit], signal, limitMs);
    if (ended.code === 0) return ended;
    const words = ['show', '--property=ActiveState', '--value', '--', unit];
    const { code, stdout } = await systemctl(options, words, signal);
    if (code !== 0) unanswered += 1;
    if (unanswered > MAX_UNANSWERED || (code === 0 && !/^(?:de)?activating/.test(stdout))) return ended;
    await setTimeout(ASK_MS, undefined, { signal }).catch(() => undefined);
    stopIfAborted(signal);
  }
};

/** Stopping waits until the step's processes have ended. */
const stopUnit = async (options: HostTargetOptions, id: string): Promise<void> => {
  await systemctl(options, ['stop', '--', runnerUnit(id)], new AbortController().signal);
};

const hasUnit = async (options: HostTargetOptions, id: string, signal: AbortSignal): Promise<boolean> => {
  if (options.services !== 'systemd' || options.root !== '/') return false;
  const words = ['show', '--property=LoadState', '--value', '--', runnerUnit(id)];
  const { stdout } = await systemctl(options, words, signal);
  return stdout.trim() === 'loaded';
};

/** A process without new privileges cannot run maintainer scripts and playbooks: they would fail half way. */
const refuseRestricted = async ({ root }: HostTargetOptions, { kind }: RunnerRequest): Promise<void> => {
  if (root !== '/') return;
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  if (!/^NoNewPrivs:\s*1$/m.test(status)) return;
  throw new FleetError(
    'PERMISSION',
    `a step of kind ${kind} needs fleet-agent-runner@.service, which is not installed`,
    {
      hint: 'Install the unit from deploy/systemd beside fleet-agent.service, and run systemctl daemon-reload',
    },
  );
};

/** Requests whose operation was abandoned: their steps are stopped and their results dropped. */
const forgetOthers = async (options: HostTargetOptions, id: string, byUnit: boolean): Promise<void> => {
  try {
    const others = (await readdir(stepsFolder(options.state))).filter((name) => name !== id);
    for (const other of others) {
      if (byUnit) await stopUnit(options, other);
      else await killAll(markedBy(other));
      await rm(stepFolder(options.state, other), { recursive: true, force: true });
    }
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw hostError(error, 'reading the requests for the runner');
  }
};
