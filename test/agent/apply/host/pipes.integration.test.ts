import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { openFile } from '../../../../agent/apply/host/live/open-file.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { applyTo, never, packageOf, sandbox } from './sandbox.ts';

const v1 = packageOf({ files: { '/opt/app/data': 'v1' } });

describe('a pipe', () => {
  it('L8: in the place of a file of the package is refused at once -> APPLY_FAILED', async () => {
    await using host = await sandbox();
    await applyTo(host.target, host.inventory, v1);
    execFileSync('sh', ['-c', 'rm "$0"; mkfifo "$0"', host.at('/opt/app/data')]);
    const drift = await host.target.observe(v1, host.inventory.owned, never);
    expect(drift.map(({ what }) => what)).toEqual(['type']);
    expect(await verdict(() => applyTo(host.target, host.inventory, v1))).toBe('APPLY_FAILED');
  });

  it('L8: that takes the place of a file just before it is opened keeps nobody waiting', async () => {
    await using host = await sandbox();
    execFileSync('mkfifo', [host.at('/etc/pipe')]);
    expect(await openFile({ at: (name) => host.at(`/etc/${name}`) }, 'pipe')).toBeUndefined();
  });
});
