import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { type Medium, parseMedium } from '#bundles/formats/medium/medium';
import { type Office, openOffice } from '../../e2e/office.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { serve } from '../hub/hub-process.ts';

const LABEL = 'apps/label-printer/host/label.zpl';
const READER = 'apps/scale-reader/host/serve.py';

let folder: TemporaryDirectory;
let office: Office;
const at = (...parts: readonly string[]): string => join(folder.path, ...parts);
const stick = (): string => at('stick');

const agent = (...words: readonly string[]): Promise<Outcome> =>
  runAgent(folder.path, words, {
    ...process.env,
    FLEET_AGENT_STATE: at('state'),
    FLEET_AGENT_ROOT: at('host'),
    FLEET_AGENT_SERVICES: 'none',
  });

/** 260 KB that pack badly; one line of it is the version. */
const label = (version: string): string =>
  Array.from({ length: 4000 }, (_, line) =>
    createHash('sha256')
      .update(line === 2000 ? version : `${line}`)
      .digest('hex'),
  )
    .concat('^XZ\n')
    .join('\n');

const noise = (version: string): readonly string[] =>
  Array.from({ length: 4000 }, (_, line) => createHash('sha256').update(`${version} ${line}`).digest('hex'));

const contents = async (): Promise<Medium> => parseMedium(await readFile(join(stick(), 'fleet/medium.json')));

const bytesOn = async (): Promise<number> => {
  const files = await readdir(stick(), { recursive: true, withFileTypes: true });
  const found = files.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    found.map(async (it) => (await readFile(join(it.parentPath, it.name))).length),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};

const ready = async (version: string): Promise<void> => {
  succeed(await agent('reports', 'export', stick()));
  succeed(await office.scheduler('reports', 'import', stick()));
  await office.edit(LABEL, () => label(version));
  await office.build();
};

const onHost = (): Promise<string> => readFile(at('host/etc/label-printer/label.zpl'), 'utf8');

beforeAll(async () => {
  folder = await temporaryDirectory('deltas');
  await mkdir(stick());
  await mkdir(at('host'));
  office = await openOffice(folder.path);
  await office.edit(LABEL, () => label('one'));
  await office.build();
  const who = [
    '--fleet',
    'halden',
    '--site',
    'plant-7',
    '--name',
    'press-2',
    '--channel',
    'prod/factory-host',
  ];
  succeed(await agent('enroll', ...who, '--root-sha256', office.rootSha256, stick()));
  succeed(await office.scheduler('sites', 'enroll', stick(), ...(await acceptRequests(stick()))));
  succeed(await office.scheduler('sites', 'set', 'plant-7', 'lineNumber=7'));
  await office.fill(stick(), 'plant-7');
  succeed(await agent('import', stick()));
}, 120_000);
afterAll(() => folder[Symbol.asyncDispose]());

describe('the next medium for a host without network', () => {
  it('needs a few kilobytes, by the newest report that the office has and a patch', async () => {
    const full = await bytesOn();
    await ready('two');
    const filled = await office.fill(stick(), 'plant-7', '--for', 'site:plant-7', '--binary-deltas');
    expect(filled.stdout).toMatch(/1 patch of [\d.]+ (bytes|B|KiB) in all instead of [\d.]+ KiB/);
    expect((await contents()).deltas).toHaveLength(1);
    expect(await bytesOn()).toBeLessThan(full / 2);
    const verified = await office.exporter('verify', stick(), '--root-sha256', office.rootSha256);
    expect(verified.code, verified.stdout).toBe(0);
    const recorded = succeed(await office.scheduler('media', 'record', stick()));
    expect(recorded.stdout).toMatch(/^on its way since .*: prod\/factory-host r\d+ for plant-7, filled /m);
    const imported = succeed(await agent('import', stick()));
    expect(imported.stdout).toMatch(/label-printer-host +configured/);
    expect(await onHost()).toBe(label('two'));
    const underway = succeed(await office.scheduler('media', 'list'));
    expect(underway.stdout).toMatch(/for plant-7, .*; arrived at no site yet/);
  });

  it('is not on its way any more when it returned to the office', async () => {
    succeed(await agent('reports', 'export', stick()));
    succeed(await office.scheduler('reports', 'import', stick()));
    expect(succeed(await office.scheduler('media', 'list')).stdout).toContain('No medium is on its way');
  });

  it('receives exactly the base that the host lost and asked for', async () => {
    await ready('three');
    await office.fill(stick(), 'plant-7', '--for', 'site:plant-7', '--binary-deltas');
    const [delta] = (await contents()).deltas ?? [];
    if (!delta) throw new Error('there is no patch');
    await rm(at('state/blobs/sha256', hexOf(delta.base)));
    const refused = await agent('import', stick());
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('MISSING_BASE')]);
    const again = await office.fill(stick(), 'plant-7', '--for', 'site:plant-7', '--binary-deltas');
    expect(again.stderr + again.stdout).toContain('plant-7/press-2 asks for 1 blob');
    const { deltas, bundles } = await contents();
    expect(deltas).toBeUndefined();
    expect(bundles.flatMap(({ assumed }) => assumed).length).toBeGreaterThan(0);
    expect(await readdir(join(stick(), 'blobs/sha256'))).toContain(hexOf(delta.digest));
    succeed(await agent('import', stick()));
    expect(await onHost()).toBe(label('three'));
  });

  it('that was damaged is refused with the name of the file, at the office and at the host', async () => {
    await ready('four');
    await office.fill(stick(), 'plant-7', '--for', 'release:prod/factory-host@3', '--binary-deltas');
    const path = (await contents()).deltas?.[0]?.patch.path ?? '';
    await writeFile(join(stick(), path), 'damaged');
    const verified = await office.exporter('verify', stick(), '--root-sha256', office.rootSha256);
    expect(verified.code).not.toBe(0);
    expect(verified.stdout + verified.stderr).toContain(path);
    const refused = await agent('import', stick());
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining(path)]);
    // The same command again puts it right.
    await office.fill(stick(), 'plant-7', '--for', 'release:prod/factory-host@3', '--binary-deltas');
    succeed(await agent('import', stick()));
    expect(await onHost()).toBe(label('four'));
  });

  it('is imported as a patch from one of several media, in any order', async () => {
    for (const [version, order] of [
      ['in turn', [1, 2]],
      ['the other way round', [2, 1]],
    ] as const) {
      // All of it is news, and no patch is for it: one stick is too small.
      await office.edit(READER, (text) => `${text.split('# ')[0]}# ${noise(version).join('\n# ')}\n`);
      await ready(version);
      const to = (number: number): string => at(`${version} ${number}`.replaceAll(' ', '-'));
      for (const number of [1, 2]) await mkdir(to(number));
      const set = ['--part-size', '120000', '--stick-size', '120000'];
      const words = [
        '--from',
        at('releases'),
        '--site',
        'plant-7',
        '--for',
        'site:plant-7',
        '--binary-deltas',
      ];
      const places = ['--to', to(1), '--to', to(2)];
      const planned = succeed(await office.exporter('plan', ...words, ...set, ...places));
      const filled = succeed(await office.exporter('create', ...words, ...set, ...places));
      for (const { stdout } of [planned, filled]) expect(stdout).toMatch(/1 patch of /);
      const verified = await office.exporter('verify', to(1), to(2), '--root-sha256', office.rootSha256);
      expect(verified.stdout).toMatch(/ok +deltas: 1 patch/);
      expect(verified.code, verified.stdout).toBe(0);
      const [first, last] = order;
      const waiting = await agent('import', to(first));
      expect([waiting.code, waiting.stderr]).toEqual([5, expect.stringContaining('PARTS_MISSING')]);
      const imported = succeed(await agent('import', to(last)));
      expect(imported.stdout).toMatch(/label-printer-host +configured/);
      expect(await onHost()).toBe(label(version));
    }
  });

  it('is recorded as on its way by fleet-export, which ends its older record when it is filled again', async () => {
    const token = async (allow: string): Promise<string> => {
      const words = ['tokens', 'create', '--person', 'office', '--allow', allow];
      const file = at(allow.replace(':', '-'));
      await writeFile(file, succeed(await office.scheduler(...words)).stdout);
      return file;
    };
    const fill = (hub: string, file: string): Promise<Outcome> =>
      office.fill(stick(), 'plant-7', '--hub', hub, '--hub-token-file', file);
    const underway = async (): Promise<readonly string[]> =>
      succeed(await office.scheduler('media', 'list')).stdout.match(/^on its way.*$/gm) ?? [];
    await writeFile(
      at('hub.yaml'),
      `keys: ${at('keys')}\nlayout: ${at('releases')}\ndb: ${at('hub/hub.db')}\n`,
    );
    const [mine, other] = [await token('record:prod'), await token('record:qa')];
    await office.edit(LABEL, () => label('two and a half'));
    await office.build();
    const early = await fill('https://127.0.0.1:1', mine);
    expect(early.stderr).toMatch(
      /the medium is complete, but not recorded as on its way: HUB_UNREACHABLE.*\n.*fleet-scheduler media record \S+stick$/m,
    );
    await using hub = await serve(folder.path, ['--config', 'hub.yaml', '--listen', '127.0.0.1:0']);
    expect((await fill(hub.url, other)).stderr).toContain('does not allow record:prod');
    expect(await underway()).toEqual([]);
    expect((await fill(hub.url, mine)).stderr).toContain(`recorded at ${hub.url}: on its way since`);
    const [first = '', ...others] = await underway();
    expect([first, others]).toEqual([expect.stringContaining('for plant-7'), []]);
    await office.edit(LABEL, () => label('two and three quarters'));
    await office.build();
    succeed(await fill(hub.url, mine));
    const [second, ...more] = await underway();
    expect([second, more]).toEqual([expect.not.stringContaining(first), []]);
    // A set of two sticks is one medium; one of them filled alone ends its record.
    const [one, two] = [at('set-1'), at('set-2')];
    for (const path of [one, two]) await mkdir(path);
    const known = ['--from', at('releases'), '--site', 'plant-7', '--hub', hub.url, '--hub-token-file', mine];
    const fillAt = (...words: readonly string[]): Promise<Outcome> =>
      office.exporter('create', ...known, ...words);
    const size = ['--part-size', '400000', '--stick-size', '400000'];
    await office.edit(LABEL, () => label('two and four fifths'));
    await office.build();
    succeed(await fillAt('--to', one, '--to', two, ...size));
    // Records of one second come in either order.
    const recorded = await underway();
    expect(recorded).toHaveLength(2);
    expect(recorded).toContain(second);
    const ofSet = recorded.find((line) => line !== second);
    await office.edit(LABEL, () => label('two and five sixths'));
    await office.build();
    succeed(await fillAt('--to', one));
    const last = await underway();
    expect(last).toHaveLength(2);
    expect(last).not.toContain(ofSet);
  });
});
