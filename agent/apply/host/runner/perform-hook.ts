import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cutText } from '#cli/cut-text';
import { COMMAND_ENV } from '../host-options.ts';
import { shownOutput } from '../shown-output.ts';
import type { StepEnd, StepWork } from './step-work.ts';
import type { DebHook } from '../step-request.ts';

/**
 * Runs a program of the release as root, from a verified copy. It gets the name of the Debian package and both versions in FLEET_DEB,
 * FLEET_DEB_FROM (empty for none) and FLEET_DEB_TO. @throws FleetError ABORTED
 */
export const performHook = async (
  { when, package: name, path, program, from, to, timeoutSeconds }: DebHook,
  { content, scratch, run, signal }: StepWork,
): Promise<StepEnd> => {
  const copy = join(scratch, program);
  await mkdir(join(scratch, 'hooks'), { recursive: true, mode: 0o700 });
  await copyFile(join(content, program), copy);
  await chmod(copy, 0o700);
  const ended = await run([copy], {
    timeoutMs: timeoutSeconds * 1000,
    signal,
    cwd: '/',
    env: {
      ...COMMAND_ENV,
      HOME: '/root',
      FLEET_DEB: name,
      FLEET_DEB_FROM: from ?? '',
      FLEET_DEB_TO: to,
    },
  });
  if (ended.code === 0) return { ...ended, message: undefined };
  return { ...ended, message: `${name}: the ${when} hook ${path} ${whyEnded(ended, timeoutSeconds)}` };
};

/** Lines of the output that a message has, standard error first. */
const MAX_LINES = 5;

const whyEnded = ({ code, stdout, stderr }: Omit<StepEnd, 'message'>, timeoutSeconds: number): string => {
  if (code === 126 || code === 127)
    return 'cannot be run: its first line must name a program, as #!/bin/sh does';
  const said = shownOutput(`${code === 124 ? '' : stderr}\n${stdout}`)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, MAX_LINES)
    .join(' / ');
  const why = code === 124 ? `did not end within ${timeoutSeconds} s and was killed` : `ended with ${code}`;
  return said === '' ? why : `${why}: ${cutText(said, 1000)}`;
};
