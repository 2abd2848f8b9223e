import type { HostCheck } from '#bundles/bundle/host-package';
import type { CheckResult } from '../../target.ts';
import { COMMAND_ENV, type HostTargetOptions } from '../host-options.ts';

type ExecCheck = Extract<HostCheck, { type: 'exec' }>;

/**
 * Passes when the program ends with 0. It runs in the host's root and finds it in FLEET_ROOT. What it says stays
 * here: it may print what it checks.
 */
export const checkExec = async (
  options: HostTargetOptions,
  { name, argv, timeoutSeconds }: ExecCheck,
  signal: AbortSignal,
): Promise<CheckResult> => {
  const { code } = await options.run(argv, {
    timeoutMs: timeoutSeconds * 1000,
    signal,
    cwd: options.root,
    env: { ...COMMAND_ENV, FLEET_ROOT: options.root },
  });
  if (code === 0) return { name, outcome: 'passed', message: `${argv[0]} ended with 0` };
  const why =
    code === 124
      ? `did not end within ${timeoutSeconds} s`
      : code === 127
        ? 'is no program on this host'
        : `ended with ${code}`;
  return { name, outcome: 'failed', message: `${argv[0]} ${why}` };
};
