import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { readIdentity } from '../../../agent/store/identity.ts';
import { openState } from '../../../agent/store/state.ts';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { type Outcome, runCommand, succeed } from '../../harness/run/run-command.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  type TestMedium,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

let folder: TemporaryDirectory;
let fleet: TestFleet;
const at = (...parts: readonly string[]): string => join(folder.path, ...parts);

/** The commands as a technician types them. */
const agent = (words: readonly string[], state = 'state'): Promise<Outcome> => {
  const env = {
    ...process.env,
    FLEET_NOW: '2026-11-21T08:00:00Z',
    FLEET_AGENT_STATE: at(state),
    FLEET_AGENT_ROOT: at('root'),
    FLEET_AGENT_SERVICES: 'none',
  };
  // A process that ends holds no file of a disk that is unmounted.
  if (state.startsWith('small/'))
    return runCommand([process.execPath, programFile('agent'), ...words], { env });
  return runAgent(folder.path, words, env);
};

/** Larger than what the agent can do without on a small disk, and nothing that gzip could make small. */
const LARGE = randomBytes(1 << 20).toString('base64');
const bundleOf = (...files: readonly string[]) =>
  packTestBundle(
    fleet,
    files.map((content, index) => ({ id: `part-${index}`, files: { [`/opt/part-${index}`]: content } })),
  );

const medium = (name: string, what: TestMedium): Promise<string> => {
  using state = openState(at('state'));
  const { key } = readIdentity(state);
  const site = { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] };
  return writeTestMedium(at(name), fleet, { site, ...what });
};

/** All that a refusal must leave alone: what lies on the host, and what the agent says of itself but its outbox. */
const snapshot = async (state: string): Promise<object> => {
  const files = (await readdir(at('root'), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const { outbox: _, ...status } = JSON.parse((await agent(['status', '--json'], state)).stdout) as {
    readonly outbox: unknown;
  };
  return { status, live: await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')])) };
};

/** Refused as the catalogue says: by code and exit code, in one line without a stack, the same as JSON. */
const expectRefusal = async (words: readonly string[], code: string, exit: number, state = 'state') => {
  const told = await agent(words, state);
  expect(told).toMatchObject({ code: exit, stdout: '' });
  expect(told.stderr).toMatch(new RegExp(`^fleet-agent: (?:[^\\n]*: )?${code}: [^\\n]*[.?]\\n$`));
  const json = await agent([...words, '--json'], state);
  expect(json).toMatchObject({ code: exit, stderr: '' });
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code } });
};

type Mistake = {
  readonly mistake: string;
  readonly code: string;
  readonly exit: number;
  /** Makes the medium. */
  readonly make: () => Promise<string>;
};

const next = () => ({ version: 3, bundle: bundleOf('three', 'same') });

const MISTAKES: readonly Mistake[] = [
  { mistake: 'nothing', code: 'MEDIUM_MISSING', exit: 5, make: async () => at('nowhere') },
  {
    mistake: 'a stick that nobody filled',
    code: 'MEDIUM_EMPTY',
    exit: 5,
    make: async () => at('request'),
  },
  { mistake: 'a device', code: 'MEDIUM_INVALID', exit: 4, make: async () => '/dev/null' },
  {
    mistake: 'a tar that was cut short',
    code: 'TRUNCATED',
    exit: 4,
    make: async () => {
      const path = await medium('cut.tar', { release: next() });
      await truncate(path, 7000);
      return path;
    },
  },
  {
    mistake: 'a table of contents that was cut short',
    code: 'BAD_JSON',
    exit: 4,
    make: async () => {
      const path = await medium('cut', { release: next() });
      await truncate(join(path, 'fleet', 'medium.json'), 100);
      return path;
    },
  },
  {
    mistake: 'one flipped byte in a layer',
    code: 'DIGEST_MISMATCH',
    exit: 4,
    make: () => {
      const release = next();
      const layer = release.bundle.layers.get('part-0')?.digest;
      return medium('flipped', {
        release,
        tamper: (digest, bytes) =>
          digest === layer ? Buffer.from(bytes.map((it, index) => (index === 30 ? it ^ 1 : it))) : bytes,
      });
    },
  },
  {
    mistake: 'a layer that is gone',
    code: 'MISSING_BLOB',
    exit: 5,
    make: () => {
      const release = next();
      const layer = release.bundle.layers.get('part-0')?.digest;
      return medium('gone', { release, tamper: (digest, bytes) => (digest === layer ? undefined : bytes) });
    },
  },
  {
    mistake: 'the stick of the month before last',
    code: 'ROLLBACK',
    exit: 4,
    make: async () => at('old'),
  },
  {
    mistake: 'the stick of another site',
    code: 'WRONG_SITE',
    exit: 4,
    make: async () => {
      const key = fleet.keys.audit.public.pem;
      const site = { site: 'plant-8', version: 1, agents: [{ name: 'kiosk-1', key }] };
      return medium('other', { site, release: next() });
    },
  },
  {
    mistake: 'the stick of another fleet',
    code: 'WRONG_FLEET',
    exit: 4,
    make: async () => {
      const other = await createTestFleet('others');
      const key = other.keys.audit.public.pem;
      const site = { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] };
      const bundle = packTestBundle(other, [{ id: 'part-0', files: { '/opt/part-0': 'theirs' } }]);
      return writeTestMedium(at('others'), other, { site, release: { version: 9, bundle } });
    },
  },
  {
    mistake: 'a delta without its base',
    code: 'MISSING_BASE',
    exit: 5,
    make: async () => {
      const bundle = bundleOf('three', 'never seen here');
      const base = bundle.layers.get('part-1');
      return medium('delta', { release: { version: 3, bundle }, assumed: base ? [base.digest] : [] });
    },
  },
];

beforeAll(async () => {
  folder = await temporaryDirectory('mistakes');
  fleet = await createTestFleet();
  await mkdir(at('request'));
  await mkdir(at('root'));
  const root = hexOf(digestOf(fleet.roots[0] ?? ''));
  const names = ['--fleet', fleet.name, '--site', 'plant-7', '--name', 'kiosk-1'];
  const rest = ['--channel', 'prod/factory-host', '--root-sha256', root];
  succeed(await agent(['enroll', ...names, ...rest, at('request')]));
  await medium('old', { release: { version: 1, bundle: bundleOf('zero', 'same') } });
  const first = await medium('first', { release: { version: 2, bundle: bundleOf('one', 'same') } });
  succeed(await agent(['import', at('old')]));
  succeed(await agent(['import', first]));
});
afterAll(() => folder[Symbol.asyncDispose]());

describe('the import of', () => {
  it.each(MISTAKES)('$mistake ends with $code, and changes nothing', async ({ code, exit, make }) => {
    const path = await make();
    const before = await snapshot('state');
    await expectRefusal(['import', path], code, exit);
    expect(await snapshot('state')).toEqual(before);
  });

  it('the right medium after these mistakes succeeds, and reports them', async () => {
    const path = await medium('right', { release: next() });
    expect(await agent(['import', path])).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(at('root/opt/part-0'), 'utf8')).toBe('three');
    const { events } = JSON.parse((await agent(['history', '--limit', '100', '--json'])).stdout) as {
      readonly events: readonly { readonly type: string; readonly code?: string }[];
    };
    const refused = new Set(events.flatMap(({ type, code }) => (type === 'refused' && code ? [code] : [])));
    // Where nothing was, nothing was refused.
    const told = MISTAKES.map(({ code }) => code).filter((code) => code !== 'MEDIUM_MISSING');
    expect(refused).toEqual(new Set<string>(told));
  });
});

const withSmallDisk = async (megabytes: number, use: (path: string) => Promise<void>): Promise<void> => {
  await mkdir(at('small'), { recursive: true });
  const words = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', at('small')];
  expect(spawnSync('mount', words).status).toBe(0);
  try {
    await cp(at('state'), at('small/state'), { recursive: true });
    await use(at('small/filler'));
  } finally {
    expect(spawnSync('umount', [at('small')]).status).toBe(0);
  }
};

const canMount = (): boolean =>
  rootAccess() === 'root' && spawnSync('unshare', ['-m', 'true'], { stdio: 'ignore' }).status === 0;

const title = 'the import on a host with a full disk';
if (canMount()) describe(title, fullDisk);
else describe.skip(`${title}${SKIPPED}a small disk can be mounted by root only)`, fullDisk);

function fullDisk(): void {
  it('ends with DISK_FULL, changes nothing, and succeeds with the same medium when there is room', async () => {
    const path = await medium('large', { release: { version: 4, bundle: bundleOf(LARGE, 'same') } });
    await withSmallDisk(4, async (filler) => {
      const before = await snapshot('small/state');
      await writeFile(filler, Buffer.alloc(3 << 20));
      await expectRefusal(['import', path], 'DISK_FULL', 6, 'small/state');
      expect(await snapshot('small/state')).toEqual(before);
      await rm(filler);
      expect(await agent(['import', path], 'small/state')).toMatchObject({ code: 0, stderr: '' });
      expect(await readFile(at('root/opt/part-0'), 'utf8')).toBe(LARGE);
    });
  });

  it('to the last byte ends with DISK_FULL too, and loses nothing', async () => {
    await withSmallDisk(2, async (filler) => {
      const before = await snapshot('small/state');
      // Filled until it says that it is full.
      await expect(writeFile(filler, Buffer.alloc(3 << 20))).rejects.toMatchObject({ code: 'ENOSPC' });
      await expectRefusal(['import', at('first')], 'DISK_FULL', 6, 'small/state');
      // What only reads goes on, and status says what is wrong.
      const status = await agent(['status'], 'small/state');
      expect([status.code, status.stderr]).toEqual([8, '']);
      expect(status.stdout).toContain('Disk     DISK_FULL');
      for (const words of [['history'], ['diff']])
        expect(await agent(words, 'small/state')).toMatchObject({
          stdout: expect.stringContaining('part-0') as string,
          stderr: '',
        });
      await rm(filler);
      expect(await snapshot('small/state')).toEqual(before);
    });
  });
}
