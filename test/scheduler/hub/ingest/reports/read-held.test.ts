import { describe, expect, it } from 'vitest';
import { readHeld } from '../../../../../scheduler/hub/ingest/reports/read-held.ts';

describe('what agents hold by their last reports', () => {
  it('is nothing where there is no hub', async () => {
    expect(await readHeld(undefined, 'halden')).toEqual(new Set());
  });

  it('is not nothing because the name of the database is mistyped', async () => {
    await expect(readHeld('/nowhere/hbu.db', 'halden')).rejects.toMatchObject({
      code: 'SITE_MISSING',
      message: 'there is no hub database at /nowhere/hbu.db, so what sites hold is not known',
    });
  });
});
