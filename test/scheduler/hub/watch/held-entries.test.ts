import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { EnvironmentOutcome } from '../../../../scheduler/build/build-outcome.ts';
import { heldEntries } from '../../../../scheduler/hub/watch/held-entries.ts';

it('the log has one entry for each reason of a hold, with everything it holds', () => {
  const at = { file: 'apps/a/template.yaml', line: 3, column: 1 };
  const slip = () => new FleetError('TEMPLATE_FAILED', 'no value', { at });
  const channels = ['gate', 'kiosk'].map((clusterType) => ({
    clusterType,
    held: ['web', 'printer'].map((assignment) => ({ assignment, error: slip() })),
  }));
  const heldWorkloads = [
    { registration: 'shop', errors: [new FleetError('SOURCE_UNREACHABLE', 'no such branch')] },
  ];
  const outcome = { environment: 'prod', channels, heldWorkloads } as unknown as EnvironmentOutcome;
  expect(heldEntries(outcome)).toEqual([
    {
      environment: 'prod',
      held: 4,
      names: ['gate/web', 'gate/printer', 'kiosk/web'],
      code: 'TEMPLATE_FAILED',
      at: 'apps/a/template.yaml:3:1',
      why: 'no value',
    },
    { environment: 'prod', held: 1, names: ['shop'], code: 'SOURCE_UNREACHABLE', why: 'no such branch' },
  ]);
});
