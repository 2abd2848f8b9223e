import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { cannotBuildPromoted } from '../../../../scheduler/release/chain/open-chain.ts';

test('an error about a promoted candidate that cannot be built hints at its files first, then at another promotion', () => {
  const changed = new FleetError('CANDIDATE_MISMATCH', 'platform had another tree', {
    hint: 'It came from a directory that has changed since; put it back as it was',
  });
  expect(cannotBuildPromoted('qa', changed)).toMatchObject({
    code: 'NOT_PROMOTED',
    subject: 'qa',
    message: 'platform had another tree',
    hint: 'It came from a directory that has changed since; put it back as it was, or promote another candidate with: fleet-scheduler promote qa',
  });
  const silent = new FleetError('CANDIDATE_MISMATCH', 'the image web is not what it was');
  expect(cannotBuildPromoted('qa', silent).hint).toBe(
    'Restore it, or promote another candidate with: fleet-scheduler promote qa',
  );
});
