import { describe, expect, it } from 'vitest';
import { readHeld } from '../../../../../scheduler/hub/ingest/reports/read-held.ts';

describe('readHeld, the bundles that agents hold', () => {
  it('is empty without a hub', async () => {
    expect(await readHeld(undefined, 'halden')).toEqual(new Set());
  });

  it('fails for a missing database: SITE_MISSING', async () => {
    await expect(readHeld('/nowhere/hbu.db', 'halden')).rejects.toMatchObject({
      code: 'SITE_MISSING',
      message: 'there is no hub database at /nowhere/hbu.db, so what sites hold is not known',
    });
  });
});
