import { type ExportRequest, prepare } from '../../../exporter/plan/prepare.ts';
import { exportMedium } from '../../../exporter/write/export-medium.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { PART } from './set-world.ts';

export type Form = 'directory' | 'tar' | 'set' | 'sealed';

/** Fills a medium in a form, as `create` does. @param recipient of a sealed one */
export const fillForm = async (
  layout: string,
  to: string,
  form: Form,
  recipient = process.env['TEST_RECIPIENT'] ?? '',
  order: Partial<ExportRequest> = {},
  partSize: number = PART,
) => {
  await using prepared = await prepare({
    from: layout,
    to,
    channels: undefined,
    sites: [],
    bases: [],
    ...(form === 'sealed' ? { sealTo: [recipient] } : {}),
    now: NOW,
    ...order,
  });
  const options = { readBack: true, onBytes: () => {}, seal: prepared.seal };
  const isSet = form === 'set' || form === 'sealed';
  return await exportMedium(prepared, options, isSet ? { partSize, stickSizes: [] } : undefined);
};
