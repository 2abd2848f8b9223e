import { expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { faultFields } from '../../../../scheduler/hub/watch/fault-fields.ts';

it('the log entry of an error has its code, position, subject, reason and hint', () => {
  const at = { file: 'platform/fleet.yaml', line: 14, column: 11 };
  const details = { subject: 'Fleet halden', at, hint: 'Correct it' };
  expect(faultFields(new FleetError('YAML_SYNTAX', 'this is not YAML', details))).toEqual({
    code: 'YAML_SYNTAX',
    at: 'platform/fleet.yaml:14:11',
    subject: 'Fleet halden',
    why: 'this is not YAML',
    hint: 'Correct it',
  });
  expect(faultFields(new FleetError('BUSY', 'wait'))).toEqual({ code: 'BUSY', why: 'wait' });
});
