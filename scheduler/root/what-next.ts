import { hexOf } from '#bundles/digest';
import type { Draft } from './judge-draft.ts';

/** What to do with a draft that has got signatures. */
export const whatNext = ({ root, complete }: Draft, file: string): readonly string[] =>
  complete
    ? [
        `complete. SHA-256 ${hexOf(root.digest)}`,
        `Next: fleet-scheduler root install ${file} --keys <directory>`,
      ]
    : [`Next, on the laptop of another officer: fleet-scheduler root sign ${file} --key <officer.key>`];
