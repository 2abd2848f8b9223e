import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import Publish from '../../../../scheduler/commands/publish.ts';
import RootInspect from '../../../../scheduler/commands/root/inspect.ts';
import RootInstall from '../../../../scheduler/commands/root/install.ts';
import RootRotate from '../../../../scheduler/commands/root/rotate.ts';
import RootVerify from '../../../../scheduler/commands/root/verify.ts';
import { runCommandClass } from '../../commands/run-command-class.ts';
import { HOSTS, testHub } from '../../hub/test-hub.ts';

it('every command that opens a development root warns on stderr, never on stdout', async () => {
  await using hub = await testHub();
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 1,
    bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'x' } } }],
  });
  const keys = join(hub.path, 'keys');
  const root = join(keys, '1.root.json');
  const now = ['--now', '2026-11-21T08:00:00Z'];
  for (const [command, words] of [
    [Publish, [join(hub.path, 'mirror'), '--layout', hub.layout]],
    [RootInspect, ['--keys', keys]],
    [RootInspect, [root]],
    [RootVerify, [root]],
    [RootInstall, [root, '--keys', keys]],
    [RootRotate, [root, '--out', join(hub.path, '2.root.json')]],
  ] as const) {
    const ran = await runCommandClass(command, [...words, ...now]);
    expect({ id: command.name, code: ran.code }).toEqual({ id: command.name, code: 0 });
    expect(ran.err).toContain(DEV_ROOT_NOTICE);
    expect(ran.out).not.toContain('DEV ROOT');
  }
});
