import { Flags } from '@oclif/core';

const PROGRESS_MODES = ['auto', 'bar', 'json', 'none'] as const;
export type ProgressMode = (typeof PROGRESS_MODES)[number];

/** The --progress flag of all commands with long work. */
export const PROGRESS_FLAG = {
  progress: Flags.option({
    options: PROGRESS_MODES,
    default: 'auto' as const,
    description:
      'Progress on standard error: a bar, JSON lines, or nothing; auto is a bar on a terminal, otherwise lines for long work',
    env: 'FLEET_PROGRESS',
  })(),
};

/** Of the commands that write onto a medium (bundles/formats/medium/check-mounted.ts). */
export const FORCE_PATH_FLAG = {
  'force-path': Flags.boolean({
    description: 'Write below /media, /mnt or /run/media even if nothing is mounted there',
  }),
};

/** Settings of a flag that is given once for each value, so that an argument may follow it. */
export const repeatable = { multiple: true, multipleNonGreedy: true } as const;
