import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { openTools } from '../../../scheduler/load/applications/tools/find-tool.ts';
import {
  isolatingCommand,
  notIsolated,
} from '../../../scheduler/load/applications/tools/network-isolation.ts';
import { runTool } from '../../../scheduler/load/applications/tools/run-tool.ts';
import { workFolder } from '../../../scheduler/load/applications/tools/work-folder.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';
import { toldLater } from '../../scheduler/told.ts';

const signal = new AbortController().signal;

const run = async (script: string, more: Partial<Parameters<typeof runTool>[0]> = {}) => {
  await using work = await workFolder([['input.txt', Buffer.from('here')]]);
  const tool = { name: 'helm', command: ['/bin/sh', '-c', script] } as const;
  const result = await runTool({ tool, args: [], cwd: work.files, home: work.home, signal, ...more });
  return { ...result, out: result.out.toString(), work };
};

it('a renderer has its files, and no home, configuration, program or network of the machine', async () => {
  process.env['FLEET_TEST_SECRET'] = 'secret';
  const script = 'read -r line < input.txt; echo "$line"; export -p; git --version || echo no git';
  const { out: seen, work } = await run(script).finally(() => {
    delete process.env['FLEET_TEST_SECRET'];
  });
  expect(seen).toMatch(/no git$/m);
  expect(seen).not.toContain('secret');
  expect(seen).toMatch(/HOME='?\S*fleet-ferry-render-/);
  expect(seen).toMatch(/KUBECONFIG='?\/dev\/null/);
  expect(seen).toMatch(/HTTPS_PROXY='?http:\/\/127\.0\.0\.1:9/);
  expect(work.home).toContain('fleet-ferry-render-');
});

it('a renderer that runs or writes without end is stopped', async () => {
  const loop = 'while :; do :; done';
  expect(await toldLater(run(loop, { limits: { milliseconds: 200, bytes: 1000 } }))).toContain(
    'TEMPLATE_LIMIT: helm takes longer than 0.2 s',
  );
  const flood = 'while :; do echo 0123456789; done';
  expect(await toldLater(run(flood, { limits: { milliseconds: 20_000, bytes: 1000 } }))).toContain(
    'TEMPLATE_LIMIT: helm writes more than 1000 bytes',
  );
  const stop = new AbortController();
  const running = toldLater(run(loop, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 100);
  expect(await running).toContain('ABORTED');
});

it('a renderer without a version is not used', async () => {
  const folder = await temporaryDirectory();
  const say = async (text: string): Promise<void> => {
    await writeFile(join(folder, 'helm'), `#!/bin/sh\necho '${text}'\n`);
    await chmod(join(folder, 'helm'), 0o755);
  };
  await say('v4.1.0');
  expect(await openTools({ PATH: `/nowhere:${folder}` }, signal)('helm', 'shop-web')).toMatchObject({
    version: 'v4.1.0',
    command: expect.arrayContaining([join(folder, 'helm')]),
  });
  await say('hello');
  expect(await toldLater(openTools({ PATH: folder }, signal)('helm', 'shop-web'))).toContain(
    'does not say its version',
  );
});

it('a renderer runs in a network namespace of its own', async () => {
  const command = await isolatingCommand('', signal);
  expect(command.length).toBeGreaterThan(0);
  const { out } = await run('', {
    tool: { name: 'cat', command: [...command, '/bin/cat', '/proc/self/net/dev'] },
  });
  expect(out.match(/^ *\w+:/gm)).toEqual(['    lo:']);
});

it('notIsolated reports a renderer without a network namespace', () => {
  const tool = { name: 'helm', version: 'v3', command: ['/bin/helm'] } as const;
  expect(notIsolated([{ ...tool, network: 'none' }])).toEqual([]);
  expect(
    notIsolated([{ ...tool, network: 'shared' }])
      .map(formatError)
      .join(),
  ).toContain('TOOL_MISSING: helm ran with the network of this machine');
});
