import { Flags } from '@oclif/core';
import { type Digest, digestFromHex } from '#bundles/digest';
import { FleetError } from '#bundles/errors';

export const ROOT_FLAG = {
  'root-sha256': Flags.string({ description: 'SHA-256 of a root file that you trust, 64 hex digits' }),
};

/** @throws FleetError USAGE */
export const parseRootDigest = (text: string): Digest => {
  const hex = text.toLowerCase().replace(/^sha256:/, '');
  if (/^[0-9a-f]{64}$/.test(hex)) return digestFromHex(hex);
  throw new FleetError(
    'USAGE',
    `--root-sha256 must be 64 hex digits, not ${JSON.stringify(text.slice(0, 80))}`,
    { hint: 'fleet-scheduler root inspect shows it' },
  );
};
