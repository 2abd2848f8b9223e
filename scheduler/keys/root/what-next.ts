import { hexOf } from '#bundles/digest';
import type { Draft } from './judge-draft.ts';

/** The next step for a signed draft, as lines for a person. */
export const whatNext = ({ root, complete }: Draft, file: string): readonly string[] =>
  complete
    ? [
        `complete. SHA-256 ${hexOf(root.digest)}`,
        `Next: fleet-scheduler root install ${file} --keys <directory>`,
      ]
    : [`Next, on the laptop of another officer: fleet-scheduler root sign ${file} --key <officer.key>`];
