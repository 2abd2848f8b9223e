import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProgramName } from '../../../examples/built-programs.ts';
import { sha256Of } from '../../../examples/story.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { makeCompany } from '../../harness/fleets/company.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { serve } from '../hub/hub-process.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { type Outcome, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const RUN = {
  'fleet-scheduler': runScheduler,
  'fleet-export': runExporter,
  'fleet-agent': runAgent,
} as const;

/** Content that does not shrink, to fill more than one stick. */
const FIRMWARE = Buffer.concat(
  Array.from({ length: 16_384 }, (_, index) => createHash('sha256').update(`firmware ${index}`).digest()),
);

describeWith(['age'], 'sealed media, from the office to a host and to another one', ({ age }) => {
  let folder: TemporaryDirectory;
  const at = (...names: readonly string[]): string => join(folder.path, ...names);
  const run = (program: ProgramName, ...words: readonly string[]): Promise<Outcome> =>
    RUN[program](folder.path, words);
  const ok = async (program: ProgramName, ...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(program, ...words);
    expect(code, `${words.join(' ')}: ${stderr}`).toBe(0);
    return `${stdout}${stderr}`;
  };
  const agent = (name: string, ...words: readonly string[]): Promise<Outcome> =>
    run('fleet-agent', ...words, '--config', `${name}.yaml`, '--now', '2026-11-21T09:00:00Z');

  const CONFIG = ['--config', 'office.yaml'];
  const create = ['create', '--from', 'releases', '--site', 'plant-7', '--encrypt', '--part-size', '200KiB'];
  let sticks: readonly string[];

  beforeAll(async () => {
    folder = await temporaryDirectory('sealed-sticks');
    const company = await makeCompany(folder.path);
    await writeFile(at('apps/scale-reader/host/firmware.bin'), FIRMWARE);
    await company.edit('apps/scale-reader/host/package.yaml', (text) =>
      text.replace(
        '  files:\n',
        '  files:\n    - path: /opt/scale-reader/firmware.bin\n      source: firmware.bin\n',
      ),
    );
    await company.build({ environments: ['prod'] });
    await writeFile(at('office.yaml'), 'platform: platform\nkeys: keys\nlayout: releases\ndb: hub.db\n');
    const root = await sha256Of(at('keys/1.root.json'));
    for (const [name, site] of [
      ['press', 'plant-7'],
      ['other', 'plant-8'],
    ] as const) {
      await mkdir(at(`${name}-root`));
      await mkdir(at(`request-${name}`));
      const config = `state: ${at(`${name}-state`)}\nroot: ${at(`${name}-root`)}\nservices: none\n`;
      await writeFile(at(`${name}.yaml`), config);
      const who = ['--fleet', 'halden', '--site', site, '--name', name, '--channel', 'prod/factory-host'];
      const asked = await agent(name, 'enroll', at(`request-${name}`), ...who, '--root-sha256', root);
      expect(asked.code, asked.stderr).toBe(0);
      const office = ['--config', 'office.yaml', '--now', '2026-11-21T08:30:00Z'];
      const accepted = await acceptRequests(at(`request-${name}`));
      await ok('fleet-scheduler', 'sites', 'enroll', at(`request-${name}`), ...accepted, ...office);
      await ok('fleet-scheduler', 'sites', 'set', site, 'lineNumber=7', ...office);
    }
    sticks = ['--stick-size', '400KiB', '--to', at('a'), '--to', at('b'), '--now', '2026-11-21T08:40:00Z'];
    const token = ['tokens', 'create', '--person', 'office', '--allow', 'record:prod', ...CONFIG];
    await writeFile(at('token'), succeed(await run('fleet-scheduler', ...token)).stdout);
    await using hub = await serve(folder.path, [...CONFIG, '--listen', '127.0.0.1:0']);
    const recorded = ['--hub', hub.url, '--hub-token-file', at('token')];
    const filled = await ok('fleet-export', ...create, ...sticks, ...recorded);
    expect(filled).toMatch(/sealed parts on 2 sticks/);
    expect(filled).toContain(`recorded at ${hub.url}: on its way since`);
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('are files that sha256sum, age and tar read', async () => {
    await runOrFail(['sha256sum', '--check', '--quiet', 'SHA256SUMS'], { cwd: at('a/fleet') });
    const [part = ''] = await readdir(at('a/fleet/parts'));
    expect(part).toMatch(/^[0-9a-f]{16}-0001\.tar\.age$/);
    const identity = at('press-state/agent.age');
    await runOrFail([age, '-d', '-i', identity, '-o', at('part.tar'), at('a/fleet/parts', part)]);
    const { stdout } = await runOrFail(['tar', '-tf', at('part.tar')]);
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      'fleet/part.json',
      'oci-layout',
      'index.json',
      'fleet/medium.json',
    ]);
  });

  it('cannot be opened at another plant', async () => {
    const { code, stderr } = await agent('other', 'import', at('a'), at('b'));
    expect([code, stderr]).toEqual([4, expect.stringContaining('NOT_A_RECIPIENT')]);
    expect(await readdir(at('other-state/blobs/sha256')).catch(() => [])).toEqual([]);
  });

  it('bring the release one after the other, in any order', async () => {
    const first = await agent('press', 'import', at('b'));
    expect([first.code, first.stderr]).toEqual([
      5,
      expect.stringMatching(/PARTS_MISSING: set .*what was on this stick is kept/),
    ]);
    const waiting = await agent('press', 'status');
    expect(waiting.stdout).toMatch(/Sticks +waiting for part.* of set [0-9a-f]{16} since/);
    const second = await agent('press', 'import', at('a'));
    expect([second.code, second.stdout]).toEqual([0, expect.stringContaining('Accepted release 1')]);
    const installed = await readFile(at('press-root/opt/scale-reader/firmware.bin'));
    expect(installed.equals(FIRMWARE)).toBe(true);
    expect((await agent('press', 'status')).stdout).not.toContain('Sticks');
    // The same sticks again do no harm.
    succeed(await agent('press', 'import', at('a'), at('b')));
  });

  it('are on their way at the hub until one returns, although the office cannot open them', async () => {
    const media = async (): Promise<string> =>
      succeed(await run('fleet-scheduler', 'media', 'list', ...CONFIG)).stdout;
    expect(await media()).toMatch(/^on its way since .*: prod\/factory-host r1 for plant-7/m);
    succeed(await agent('press', 'reports', 'export', at('a')));
    succeed(await run('fleet-scheduler', 'reports', 'import', at('a'), ...CONFIG));
    // The office has no identity that opens the sticks: the volume says which record it is.
    expect(await media()).toMatch(/^No medium is on its way/);
  });
});
