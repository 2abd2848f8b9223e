import type { DesiredPackage, Step, StepResult } from '../../../model/target.ts';
import { readWanted, type Wanted } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { fromStep } from '../host-step.ts';
import { executeSetting } from './execute-setting.ts';
import { executeDebs } from './execute-debs.ts';
import { executeDirectory, executeDirectoryRemoval } from './execute-directory.ts';
import { executeFile } from './execute-file.ts';
import { executeFileRemoval } from './execute-file-removal.ts';
import { executeSecret, executeSecretRemoval } from './execute-secret.ts';
import { executePlaybook } from '../playbooks/execute-playbook.ts';
import { executeImage, executeImageRemoval } from './execute-image.ts';
import { executeRaucActivate, executeRaucBoot, executeRaucInstall } from './execute-rauc.ts';
import { lastLines, withLastLines } from '../systemd/last-lines.ts';
import { executeReload, executeUnit, executeUnitRemoval } from './execute-unit.ts';

const wantedOf = (desired: DesiredPackage | undefined): Wanted | undefined => desired && readWanted(desired);

/** Executes one step. Each step reads the live state first, so repeating it, for example after a crash, changes nothing. */
export const executeStep = async (
  options: HostTargetOptions,
  step: Step,
  desired: DesiredPackage | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  stopIfAborted(signal);
  const typed = fromStep(step);
  const ask = (unit: string): Promise<string> => lastLines(options, unit, desired, signal);
  switch (typed.kind) {
    case 'note':
      return { key: step.key, outcome: step.outcome, reason: step.reason };
    case 'directory':
      return executeDirectory(options, step, typed.detail);
    case 'directory-removal':
      return executeDirectoryRemoval(options, step, typed.detail);
    case 'file':
      return executeFile(options, step, typed.detail, wantedOf(desired), signal);
    case 'file-removal':
      return executeFileRemoval(options, step, typed.detail, signal);
    case 'secret':
      return executeSecret(options, step, typed.detail, wantedOf(desired), signal);
    case 'secret-removal':
      return executeSecretRemoval(options, step, typed.detail, signal);
    case 'setting':
      return executeSetting(options, step, typed.detail, wantedOf(desired), signal);
    case 'debs':
      return executeDebs(options, step, typed.detail, wantedOf(desired), signal);
    case 'image':
      return executeImage(options, step, typed.detail, desired, signal);
    case 'image-removal':
      return executeImageRemoval(options, step, typed.detail, signal);
    case 'rauc-install':
      return executeRaucInstall(options, step, typed.detail, desired, signal);
    case 'rauc-activate':
      return executeRaucActivate(options, step, typed.detail, signal);
    case 'rauc-boot':
      return executeRaucBoot(options, step, typed.detail, signal);
    case 'daemon-reload':
      return executeReload(options, step, signal);
    case 'unit':
      return withLastLines(typed.detail.name, ask, () => executeUnit(options, step, typed.detail, signal));
    case 'playbook':
      return executePlaybook(options, step, typed.detail, desired, signal);
    case 'unit-removal':
      return withLastLines(typed.detail.name, ask, () =>
        executeUnitRemoval(options, step, typed.detail, signal),
      );
    default:
      return typed satisfies never;
  }
};
