import { Flags } from '@oclif/core';

/** Of the commands that write onto a medium (bundles/formats/medium/check-mounted.ts). */
export const FORCE_PATH_FLAG = {
  'force-path': Flags.boolean({
    description: 'Write below /media, /mnt or /run/media also where nothing is mounted',
  }),
};
