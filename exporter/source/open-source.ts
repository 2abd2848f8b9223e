import { FleetError } from '#bundles/errors';
import { openLayoutSource } from './layout-source.ts';
import type { Source } from './source.ts';

/** @throws FleetError USAGE, MEDIUM_MISSING, LAYOUT_INVALID */
export const openSource = async (where: string): Promise<Source> => {
  if (/^[a-z]+:\/\//.test(where)) {
    throw new FleetError('USAGE', `--from ${where} is an address; this version reads layout directories`, {
      hint: 'Give the folder that fleet-scheduler build wrote',
    });
  }
  return openLayoutSource(where);
};
