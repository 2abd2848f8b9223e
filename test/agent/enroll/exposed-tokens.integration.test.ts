import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runAgent } from '../../harness/run/run-agent.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

it('L15: enrolment warns of tokens that other users of the machine can read -> ACCEPT', async () => {
  await using folder = await temporaryDirectory('exposed');
  const at = (...names: readonly string[]): string => join(folder.path, ...names);
  const line = (agent: string, host: string) => ({
    site: 'plant-7',
    agent,
    channel: { environment: 'prod', clusterType: 'factory-host' },
    match: { hostname: host },
    token: `token-of-${agent}-which-is-long-enough-for-anybody`,
  });
  const hosts = JSON.stringify({
    format: 1,
    fleet: 'halden',
    hosts: [line('kiosk-1', hostname()), line('kiosk-2', 'another-host')],
  });
  await mkdir(at('stick'));
  for (const file of [at('hosts.json'), at('stick/hosts.json')]) await writeFile(file, hosts);
  await writeFile(at('agent.yaml'), `state: ${at('state')}\nroot: ${folder.path}\nservices: none\n`);
  const enroll = (file: string) =>
    runAgent(folder.path, [
      'enroll',
      '--force-path',
      '--config',
      'agent.yaml',
      '--hosts',
      file,
      '--root-sha256',
      'a'.repeat(64),
      'stick',
    ]);
  const readable = 'other users of this machine can read the tokens in hosts.json';
  await chmod(at('hosts.json'), 0o644);
  const said = await enroll('hosts.json');
  expect(said.code === 0 && said.stderr.includes(readable) ? 'ACCEPT' : said.stderr).toBe('ACCEPT');
  await chmod(at('hosts.json'), 0o600);
  expect(await enroll('hosts.json')).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Note') });
  // Media may have no modes, and the advice about them is another one.
  expect(await enroll('stick/hosts.json')).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('other users'),
  });
});
