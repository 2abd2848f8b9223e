import { describe, expect, it } from 'vitest';
import Verify from '../../../exporter/commands/verify.ts';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';

describe('fleet-export verify', () => {
  it('refuses a malformed --root-sha256 before it opens the medium', async () => {
    const { code, err } = await runCommandClass(Verify, ['nowhere', '--root-sha256', '9f2c...e1']);
    expect([code, err]).toEqual([2, expect.stringContaining('USAGE: --root-sha256 must be 64 hex digits')]);
  });
});
