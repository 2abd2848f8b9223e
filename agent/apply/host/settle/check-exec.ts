import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { defined } from '#bundles/defined';
import type { HostCheck } from '#bundles/formats/bundle/host-package';
import type { CheckResult } from '../../../model/target.ts';
import { COMMAND_ENV, type HostTargetOptions } from '../host-options.ts';
import { firstOf, MAX_OUTPUT, shownOutput } from '../shown-output.ts';
import { runApart } from './run-apart.ts';

type ExecCheck = Extract<HostCheck, { type: 'exec' }>;

/**
 * Passes if the program ends with 0. It runs in the host's root, which is also in FLEET_ROOT. The result of a failed program has the
 * first 4 KiB of its output, standard error first.
 * @param redact returns the first characters of a text, without the secrets of the package
 */
export const checkExec = async (
  options: HostTargetOptions,
  { name, argv, timeoutSeconds }: ExecCheck,
  redact: (text: string, length: number) => string,
  signal: AbortSignal,
): Promise<CheckResult> => {
  const { code, stdout, stderr } = await runApart(options, argv, {
    timeoutMs: timeoutSeconds * 1000,
    signal,
    cwd: options.root,
    env: { ...COMMAND_ENV, FLEET_ROOT: options.root },
  });
  if (code === 0) return { name, outcome: 'passed', message: `${argv[0]} ended with 0` };
  const ended = code === 124 ? `did not end within ${timeoutSeconds} s` : `ended with ${code}`;
  const why = code === 127 ? noProgram(argv[0] ?? '', options.root) : ended;
  const output =
    code === 127 ? '' : firstOf(shownOutput(redact(`${stderr.trim()}\n${stdout.trim()}`, 4 * MAX_OUTPUT)));
  return defined({
    name,
    outcome: 'failed',
    message: `${argv[0]} ${why}`,
    output: output === '' ? undefined : output,
  });
};

/** Programs of the machine run, so with another root than '/' a path of the package is not the path of the program. */
const noProgram = (program: string, root: string): string => {
  const why = 'is not a program on this host';
  const inRoot = join(root, program);
  if (!isAbsolute(program) || inRoot === program || !existsSync(inRoot)) return why;
  return `${why}: checks run outside of the root, where it is ${inRoot}; name it by way of "$FLEET_ROOT" in a shell, or as .${program}`;
};
