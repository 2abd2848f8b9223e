import type { CommandResult } from '../host-options.ts';
import { firstError } from './first-error.ts';

/** dpkg's reason for doing nothing at all, such as a line of its configuration that it does not know; else the first error of apt. */
export const fatalError = ({ stdout, stderr }: CommandResult): string => {
  const [, said] =
    /^dpkg: (?:error:|unrecoverable fatal error, aborting:)\s+(.+(?:\n [^\n]+|\n(?=[a-z])[^\n]+)*)/m.exec(
      `${stderr}\n${stdout}`.replaceAll('\r\n', '\n'),
    ) ?? [];
  return said?.replaceAll(/\s+/g, ' ') ?? firstError(stderr);
};
