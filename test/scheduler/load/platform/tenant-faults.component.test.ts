import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import {
  openSources,
  type SourceRequest,
  type Sources,
} from '../../../../scheduler/load/sources/open-sources.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';

const OURS = { ...fleetPlatform() };
const registration = (path: string): string =>
  ours(
    'WorkloadRegistration',
    'bad',
    `spec: {workspace: lab, workload: {repo: ../apps/bad, path: ${path}}}\n`,
  );
const GOOD_WORKLOAD = (OURS['apps/shop/deploy/shop.yaml'] ?? '').replaceAll('shop', 'bad');

/** What is wrong with one application's repository, written or thrown while it is read. */
type Fault = {
  readonly files?: Readonly<Record<string, string>>;
  readonly make?: (folder: string) => void;
  readonly thrown?: Error;
  /** What the registration reads of the repository. */
  readonly path?: string;
};

/** Loads the platform with a second application that has the fault: what is held, and what is left. */
const loadWith = async ({ files = {}, make, thrown, path = '.' }: Fault) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, {
    ...OURS,
    'platform/base/bad.yaml': registration(path),
    'apps/bad/bad.yaml': GOOD_WORKLOAD,
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`apps/bad/${path}`, text])),
  });
  make?.(join(directory, 'apps/bad'));
  const options = {
    platform: join(directory, 'platform'),
    environment: 'prod',
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
    holdWorkloads: true,
  };
  const real = openSources(options);
  const sources: Sources = {
    ...real,
    read: async (request: SourceRequest) => {
      if (thrown && request.role === 'workload/bad') throw thrown;
      return real.read(request);
    },
  };
  const platform = await loadPlatform({ ...options, sources });
  return {
    targets: platform.targets.map(({ name }) => name),
    held: (platform.heldWorkloads ?? []).map(({ registration }) => registration),
    errors: (platform.heldWorkloads ?? []).flatMap(({ errors }) => errors),
  };
};

const unexpected = (code: string): Error => Object.assign(new Error(`${code}: seen at last`), { code });

const expectHeld = async (fault: Fault, code: string): Promise<void> => {
  const { targets, held, errors } = await loadWith(fault);
  expect(held).toEqual(['bad']);
  expect(targets).toEqual(['shop-web']);
  expect(errors[0]?.code).toBe(code);
  expect(errors[0]?.at?.file).toMatch(/bad/);
};

describe('a repository with invalid content', () => {
  test.for<readonly [title: string, code: string, fault: Fault]>([
    ['a bad glob', 'FIELD_INVALID', { files: { '.sourceignore': '[z-a]\n' } }],
    [
      'a name that is not UTF-8',
      'FIELD_INVALID',
      { make: (folder) => writeFileSync(Buffer.from(`${folder}/x\xff.yaml`, 'latin1'), 'a: 1\n') },
    ],
    [
      'YAML nested too deep',
      'YAML_SYNTAX',
      {
        files: { 'deep.yaml': `kind: Workload\napiVersion: fleet-ferry.dev/v1\nx: ${'['.repeat(50_000)}\n` },
      },
    ],
    [
      'links in a circle',
      'SOURCE_MISSING',
      {
        path: 'a',
        make: (folder) => {
          symlinkSync('b', join(folder, 'a'));
          symlinkSync('a', join(folder, 'b'));
        },
      },
    ],
    ['an exception that nobody expected', 'INTERNAL', { thrown: new TypeError('x is not a function') }],
  ])('N4: %s -> %s', async ([, code, fault]) => expectHeld(fault, code));
});

describe('an error while one repository is read', () => {
  test.for<readonly [title: string, code: string, thrown: Error]>([
    ['too deep a recursion', 'INTERNAL', new RangeError('Maximum call stack size exceeded')],
    ['a file that is gone when it is read', 'INTERNAL', unexpected('ENOENT')],
    ['a file that cannot be read', 'PERMISSION', unexpected('EACCES')],
    ['a disk that cannot be read', 'IO', unexpected('EIO')],
    ['a path that is too long', 'USAGE', unexpected('ENAMETOOLONG')],
  ])('holds its application: %s', async ([, code, thrown]) => expectHeld({ thrown }, code));

  test('is ABORTED or DISK_FULL for the whole run when it is an abort or a full disk', async () => {
    const stopped = Object.assign(new Error('stopped'), { name: 'AbortError' });
    await expect(loadWith({ thrown: stopped })).rejects.toMatchObject({ code: 'ABORTED' });
    await expect(loadWith({ thrown: unexpected('ENOSPC') })).rejects.toMatchObject({ code: 'DISK_FULL' });
  });
});
