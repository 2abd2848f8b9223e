import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openLayout, referenceOf } from '../../../bundles/formats/layout/layout.ts';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { type Company, makeCompany } from '../../harness/fleets/company.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Outcome, runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

/**
 * fleet-scheduler as a person runs it, with the mistakes a person makes: each is one sentence with its code and place,
 * has the exit code of its theme, leaves nothing half-written, and what is not touched by it goes on.
 */

const PROGRAM = programFile('scheduler');
const INPUTS = ['build', '--platform', 'platform', '--keys', 'keys', '--images', 'images'];
const BUILD = [...INPUTS, '--layout', 'releases'];
const CHANNELS = 6;

type Here = Company & {
  /** The program, in a process of its own. */
  readonly run: (...words: readonly string[]) => Promise<Outcome>;
  /** The program, in a process that is kept for all of them. */
  readonly runKept: (...words: readonly string[]) => Promise<Outcome>;
};

const company = async (folder: string): Promise<Here> => {
  const made = await makeCompany(folder);
  return {
    ...made,
    run: (...words) => runCommand([process.execPath, PROGRAM, ...words], { cwd: folder }),
    runKept: (...words) => runScheduler(folder, words),
  };
};

const replace =
  (file: string, from: string | RegExp, to: string) =>
  ({ edit }: Here): Promise<void> =>
    edit(file, (text) => text.replace(from, to));

/** 'prod/kiosk' of every release that index.json names. */
const released = async ({ folder }: Here): Promise<readonly string[]> => {
  const layout = await openLayout(join(folder, 'releases')).catch(() => undefined);
  const references = (layout?.manifests ?? []).map((entry) => referenceOf(entry) ?? '');
  return references.filter((name) => name.endsWith(':release')).map((name) => name.replace(':release', ''));
};

const rests = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder, { recursive: true })).filter((name) => /\.tmp/.test(name));

const TEMPLATE = 'platform/base/templates/guarded-namespace.yaml';
const CLOUDS = 'platform/base/configs/clouds.yaml';
const SCALE = 'apps/scale-reader/host/package.yaml';
const ORDER = 'platform/base/workloads/order-api.yaml';

type Row = {
  readonly mistake: string;
  readonly make: (here: Here) => Promise<void>;
  readonly exit: number;
  readonly code: string;
  readonly place: string;
  readonly says: string;
  /** Releases of prod that are made all the same. */
  readonly others: number;
};

const rows: readonly Row[] = [
  {
    mistake: 'a YAML error',
    make: replace(CLOUDS, 'timezone: UTC', 'timezone: [UTC'),
    exit: 3,
    code: 'YAML_SYNTAX',
    place: `${CLOUDS}:10:5`,
    says: 'this is not YAML',
    others: 0,
  },
  {
    mistake: 'a tab',
    make: ({ edit }) => edit('platform/base/tab.yaml', () => 'metadata:\n\tname: x\n'),
    exit: 3,
    code: 'YAML_SYNTAX',
    place: 'platform/base/tab.yaml:2:1',
    says: 'the line is indented with a tab',
    others: 0,
  },
  {
    mistake: 'an unknown field',
    make: replace('platform/base/cluster-types/kiosk.yaml', 'offline', 'offlin'),
    exit: 3,
    code: 'UNKNOWN_FIELD',
    place: 'platform/base/cluster-types/kiosk.yaml:15:3',
    says: 'spec has no field "offlin"',
    others: 0,
  },
  {
    mistake: 'a kind with a slip of the pen',
    make: replace(CLOUDS, 'kind: Config', 'kidn: Config'),
    exit: 3,
    code: 'UNKNOWN_KIND',
    place: `${CLOUDS}:1:1`,
    says: 'this is not an object of a platform',
    others: 0,
  },
  {
    mistake: 'a template that fails',
    make: replace(TEMPLATE, 'configData.cpuQuota', 'configData.cpu.quota'),
    exit: 8,
    code: 'TEMPLATE_FAILED',
    place: `${TEMPLATE}:28:33`,
    says: '(factory-line/line-control-line, factory-line/telemetry-line, ship/telemetry-ship)',
    others: 4,
  },
  {
    mistake: 'a missing schema value',
    make: replace(CLOUDS, /.*timezone.*\n/, ''),
    exit: 8,
    code: 'CONFIG_SCHEMA',
    place: 'platform/base/schemas/common.yaml:2:1',
    says: 'timezone is missing (schema common). Set it in a Config that selects this assignment',
    others: 5,
  },
  {
    mistake: 'a missing template',
    make: ({ folder }) => rm(join(folder, 'platform/base/templates/workload-slice.yaml')),
    exit: 8,
    code: 'REFERENCE_MISSING',
    place: 'platform/base/cluster-types/factory-host.yaml:11:21',
    says: 'there is no Template workload-slice, which namespaceService names',
    others: 5,
  },
  {
    mistake: 'a name clash',
    make: async (here) => {
      await cp(join(here.folder, 'apps/order-api'), join(here.folder, 'apps/order'), { recursive: true });
      await here.edit('apps/order/workload/workload.yaml', (text) =>
        text.replace('name: order-api', 'name: order').replaceAll('- name: cloud', '- name: api-cloud'),
      );
      await cp(join(here.folder, ORDER), join(here.folder, 'platform/base/workloads/order.yaml'));
      await here.edit('platform/base/workloads/order.yaml', (text) => text.replaceAll('order-api', 'order'));
    },
    exit: 8,
    code: 'NAME_CLASH',
    // Without a release before, the registration that is first by name owns it.
    place: 'apps/order-api/workload/workload.yaml:20:7',
    says: 'which belongs to the registration order of workspace commerce (apps/order/workload/workload.yaml:20:7). Rename the target or its workload',
    others: 6,
  },
  {
    mistake: 'an unreachable repository',
    make: replace(ORDER, '../apps/order-api', 'file:///nowhere/order-api.git'),
    exit: 8,
    code: 'SOURCE_UNREACHABLE',
    place: `${ORDER}:8:5`,
    says: "'/nowhere/order-api.git' does not appear to be a git repository",
    others: 6,
  },
  {
    mistake: 'a file mode without quotes',
    make: replace(SCALE, 'mode: "0755"', 'mode: 0755'),
    exit: 8,
    code: 'FIELD_INVALID',
    place: `${SCALE}:12:13`,
    says: 'mode must be text',
    others: 5,
  },
  {
    mistake: 'a file below a file',
    make: replace(SCALE, /\/opt\/scale-reader\/serve.py/g, '/etc/scale-reader/scale.json/serve.py'),
    exit: 8,
    code: 'OBJECT_CLASH',
    place: `${SCALE}:10:7`,
    says: 'which is a file',
    others: 5,
  },
  {
    mistake: 'a manifest without a kind',
    make: replace('apps/order-api/kubernetes/service.yaml', 'kind: Service', 'kidn: Service'),
    exit: 8,
    code: 'OBJECT_INVALID',
    place: 'apps/order-api/kubernetes/service.yaml:1:1',
    says: 'this object has no kind',
    others: 6,
  },
];

describe('fleet-scheduler build', () => {
  test.each(rows)(
    'reports $mistake with its position and code',
    async ({ make, exit, code, place, says, others }) => {
      await using folder = await temporaryDirectory('mistakes');
      const here = await company(folder.path);
      await make(here);
      const told = await here.runKept(...BUILD, '--environment', 'prod');
      expect(told.stderr).toContain(`${place}: ${code}: `);
      expect(told.stderr).toContain(says);
      expect(told.stderr).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
      expect(told.code).toBe(exit);
      expect(await released(here)).toHaveLength(others);
      expect(await rests(here.folder)).toEqual([]);
      if (others === 0) expect(await readdir(here.folder)).not.toContain('releases');
      // validate finds what build finds, and writes nothing.
      const found = await here.runKept(
        'validate',
        '--platform',
        'platform',
        '--environment',
        'prod',
        '--json',
      );
      expect(found.code).toBe(code === 'SOURCE_UNREACHABLE' ? 5 : 3);
      const { problems } = JSON.parse(found.stdout) as { problems: { error: { code: string } }[] };
      expect(problems.map(({ error }) => error.code)).toContain(code);
    },
  );

  test('reports the same in JSON', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    await replace(TEMPLATE, 'configData.cpuQuota', 'configData.cpu.quota')(here);
    await replace(ORDER, '../apps/order-api', '../apps/order')(here);
    await appendFile(join(folder.path, 'platform/environments/qa/environment.yaml'), '\tx');
    const told = await here.runKept(...BUILD, '--json');
    expect(told.stderr).toBe('');
    expect(told.code).toBe(3);
    expect(JSON.parse(told.stdout)).toMatchObject({
      channels: expect.arrayContaining([
        expect.objectContaining({
          environment: 'prod',
          clusterType: 'ship',
          outcome: 'empty',
          held: [expect.objectContaining({ assignment: 'telemetry-ship', code: 'TEMPLATE_FAILED' })],
        }),
      ]),
      heldWorkloads: [
        { environment: 'dev', registration: 'order-api', problems: [{ error: { code: 'SOURCE_MISSING' } }] },
        { environment: 'prod', registration: 'order-api' },
      ],
      problems: expect.arrayContaining([
        expect.objectContaining({
          environment: 'qa',
          error: expect.objectContaining({ code: 'YAML_SYNTAX' }),
        }),
      ]),
    });
    await writeFile(join(folder.path, CLOUDS), '\tx');
    const failed = await here.runKept(...BUILD, '--json');
    expect(failed.code).toBe(3);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      error: {
        code: 'PLATFORM_INVALID',
        at: { file: CLOUDS, line: 1, column: 1 },
        hint: 'Run validate to see them all',
      },
    });
  });

  test.each([
    ['keys of which one is not the root’s', ['keys/bundle.key', 'keys/release.key'], 4, 'UNKNOWN_KEY'],
    ['keys of which one is missing', ['keys/release.key'], 5, 'KEY_MISSING'],
  ] as const)('writes nothing with %s', async (_, [key, other], exit, code) => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    if (other) await cp(join(folder.path, other), join(folder.path, key));
    else await rm(join(folder.path, key));
    const told = await here.runKept(...BUILD);
    expect(told.stderr).toContain(code);
    expect(told.code).toBe(exit);
    expect(await readdir(folder.path)).not.toContain('releases');
  });

  test('builds the other environments when one cannot be read', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    await appendFile(join(folder.path, 'platform/environments/qa/environment.yaml'), '\tx');
    const told = await here.runKept(...BUILD);
    expect(told.stderr).toContain('platform/environments/qa/environment.yaml:19:1: YAML_SYNTAX');
    expect(told.stdout).toContain('qa: nothing was built');
    expect(told.code).toBe(3);
    const environments = (await released(here)).map((channel) => channel.split('/')[0]);
    expect(new Set(environments)).toEqual(new Set(['dev', 'prod']));
  });

  test('refuses a file instead of the layout, a lost index and a clock in the past', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    await writeFile(join(folder.path, 'file'), '');
    const wrong = await here.runKept(...INPUTS, '--layout', 'file');
    expect(wrong.stderr).toMatch(/: IO: .*file cannot be a folder: a file is in the way/);
    expect(wrong.code).toBe(6);
    await here.runKept(...BUILD, '--environment', 'prod');
    const past = await here.runKept(...BUILD, '--environment', 'prod', '--now', '2020-01-01T00:00:00Z');
    expect(past.stderr).toMatch(/FROM_FUTURE: .*Set the clock/);
    expect(past.code).toBe(4);
    const late = await here.runKept(...BUILD, '--environment', 'prod', '--now', '2036-01-01T00:00:00Z');
    expect(late.stderr).toContain('ROOT_EXPIRED');
    await rm(join(folder.path, 'releases/index.json'));
    const lost = await here.runKept(...BUILD, '--environment', 'prod');
    expect(lost.stderr).toMatch(/LAYOUT_INVALID: .*has lost its index.json/);
    expect(lost.code).toBe(4);
  });

  test('repairs a released bundle that the layout has lost', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    await here.build({ environments: ['prod'] });
    const { blobs, manifests } = await openLayout(join(folder.path, 'releases'));
    const bundles = manifests.filter((entry) => referenceOf(entry)?.includes('kiosk:b-'));
    const path = blobs.path(bundles[0]?.digest as never);
    const before = await readFile(path);
    await writeFile(path, Buffer.from(before).fill(0x20, 0, 4));
    const told = await here.runKept(...BUILD, '--environment', 'prod');
    expect(told.stdout).toContain('unchanged  bundle');
    expect(told.stdout).toContain('1 lost or damaged blobs written again');
    expect(await readFile(path)).toEqual(before);
  });
});

describe('two builds into one layout', () => {
  test('at once end as BUSY or complete, without a loss', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    await mkdir(join(folder.path, 'releases'));
    const both = await Promise.all([
      here.run(...BUILD, '--environment', 'dev'),
      here.run(...BUILD, '--environment', 'prod'),
    ]);
    const busy = both.filter(({ code }) => code === 6);
    for (const { stderr } of busy) {
      expect(stderr).toMatch(
        // Between its lock and its name the other has no name yet.
        /BUSY: (?:fleet-scheduler build \(process \d+, since \S+\)|another fleet-scheduler) is writing to \S+\. Wait until it is done/,
      );
    }
    // On an idle machine they may come one after the other.
    for (const environment of ['dev', 'prod']) {
      const again = await here.runKept(...BUILD, '--environment', environment);
      succeed(again);
    }
    expect(await released(here)).toHaveLength(2 * CHANNELS);
  });

  test.each(LONG ? [100, 150, 250, 350, 500] : [150, 350])(
    'complete the layout although the first one is killed after %i ms',
    async (ms) => {
      await using folder = await temporaryDirectory('mistakes');
      const here = await company(folder.path);
      const child = spawn(process.execPath, [PROGRAM, ...BUILD, '--environment', 'prod'], {
        cwd: folder.path,
        stdio: 'ignore',
      });
      const gone = once(child, 'exit');
      setTimeout(() => child.kill('SIGKILL'), ms);
      await gone;
      const told = await here.runKept(...BUILD, '--environment', 'prod');
      succeed(told);
      expect(await released(here)).toHaveLength(CHANNELS);
      expect(await rests(folder.path)).toEqual([]);
    },
  );

  test('complete the layout although the first one is stopped by Ctrl-C, which it reports', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    const child = spawn(process.execPath, [PROGRAM, ...BUILD, '--environment', 'prod'], {
      cwd: folder.path,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      // The first line comes when the command has begun.
      if (said === '') child.kill('SIGINT');
      said += chunk.toString();
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(said).toContain('fleet-scheduler: ABORTED: ');
    expect(code).toBe(1);
    succeed(await here.runKept(...BUILD, '--environment', 'prod'));
    expect(await released(here)).toHaveLength(CHANNELS);
    expect(await rests(folder.path)).toEqual([]);
  });
});

describe('fleet-scheduler render', () => {
  const RENDER = ['render', '--platform', 'platform', '--environment', 'dev', '--out', 'tree'];

  test('keeps the folder of a held assignment, and continues without an application that cannot be read', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    succeed(await here.runKept(...RENDER));
    const tree = async () => (await readdir(join(folder.path, 'tree'), { recursive: true })).toSorted();
    const before = await tree();
    await replace(TEMPLATE, 'configData.cpuQuota', 'configData.cpu.quota')(here);
    await replace(ORDER, '../apps/order-api', '../apps/order')(here);
    const told = await here.runKept(...RENDER);
    expect(told.stderr).toContain(`${ORDER}:8:5: SOURCE_MISSING`);
    expect(told.stdout).toContain('3 assignments and 1 application are held; the others are not affected');
    expect(told.code).toBe(8);
    expect(await tree()).toEqual(before);
    const again = await here.runKept(...RENDER, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ removed: [], held: [{}, {}, {}], heldWorkloads: [{}] });
  });
});

const asRoot = rootAccess() === 'root';
describe.skipIf(!asRoot)(`a disk of a few kilobytes${asRoot ? '' : `${SKIPPED}needs root)`}`, () => {
  test('that is full during a build leaves the former releases complete, and the next build continues', async () => {
    await using folder = await temporaryDirectory('mistakes');
    const here = await company(folder.path);
    const disk = join(folder.path, 'disk');
    await mkdir(disk);
    await runOrFail(['mount', '-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', disk]);
    try {
      const build = [...INPUTS, '--layout', 'disk/releases'];
      const told = await here.runKept(...build);
      expect(told.stderr).toMatch(
        /DISK_FULL: writing to \S+releases: ENOSPC.* Free some space \(df\), or inodes \(df -i\), and run it again/,
      );
      expect(told.code).toBe(6);
      expect(await rests(disk)).toEqual([]);
      expect(JSON.parse((await here.runKept(...build, '--json')).stdout)).toMatchObject({
        error: { code: 'DISK_FULL', retryable: true },
      });
      await runOrFail(['mount', '-o', 'remount,size=10m', disk]);
      succeed(await here.runKept(...build));
      await runOrFail(['mount', '-o', 'remount,ro', disk]);
      const unwritable = await here.runKept(...build);
      expect(unwritable.stderr).toMatch(/PERMISSION: .*(?:cannot be written|EROFS)/);
      expect(unwritable.code).toBe(6);
      const fresh = await here.runKept(...INPUTS, '--layout', 'disk/other/releases');
      expect(fresh.stderr).toMatch(/PERMISSION: .*EROFS: read-only file system/);
    } finally {
      await runOrFail(['umount', disk]);
    }
  });
});
