import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openClusterAccess } from '../../agent/apply/kubernetes/api/cluster-access.ts';
import { imagePolicies } from '../../agent/config/image-policies.ts';
import { readConfig } from '../../agent/config/read-config.ts';
import { isFleetError, toFleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import { findCredentials } from '#bundles/transport/registry/http/find-credentials';
import { certificatesOf } from '#bundles/transport/registry/registry-access';
import { readKeyPlace } from '../../scheduler/keys/places/read-key-places.ts';
import { readConfiguration } from '../../scheduler/settings/configuration.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const isRoot = process.getuid?.() === 0;
const MALLORY = 4711;

/** Every reader of a file that decides what a program does. */
const READERS: readonly (readonly [name: string, read: (file: string) => unknown])[] = [
  ['agent.yaml', (file) => readConfig(file, {})],
  ['fleet-scheduler.yaml', (file) => readConfiguration({ config: file }, '/')],
  ['a keys.yaml', (file) => readKeyPlace(file)],
  ['a kubeconfig', (file) => openClusterAccess({ kubeconfig: file, context: '' })],
  ['a key of imagePolicy', (file) => imagePolicies({ imagePolicy: [{ match: ['**'], keys: [file] }] })],
  ['an auth file', (file) => findCredentials('r.example', 'a/b', { authFile: file, env: {} })],
  ['a caFile', (file) => certificatesOf(file)],
  ['a file with a token or a TLS key', (file) => readGivenFile(file)],
];

const answerOf = async (reading: () => unknown): Promise<string> => {
  try {
    await reading();
    return 'ACCEPT';
  } catch (error) {
    return isFleetError(error, 'PERMISSION')
      ? 'PERMISSION'
      : `not refused for its mode (${toFleetError(error).code})`;
  }
};

/** Each lets another user decide. @returns the file to read */
const WAYS: readonly (readonly [name: string, set: (file: string) => string, says: RegExp])[] = [
  ['that everybody may write to', (file) => (chmodSync(file, 0o666), file), /others can change this file/],
  [
    'that another group may write to',
    (file) => (chownSync(file, 0, MALLORY), chmodSync(file, 0o660), file),
    /others can change this file/,
  ],
  ['of another user', (file) => (chownSync(file, MALLORY, MALLORY), file), /belongs to user 4711/],
  [
    'in a folder of another user',
    (file) => (chownSync(join(file, '..'), MALLORY, 0), file),
    /user 4711 can replace/,
  ],
  ['in an open folder', (file) => (chmodSync(join(file, '..'), 0o777), file), /they can write to/],
  ['below an open folder', (file) => (chmodSync(join(file, '../..'), 0o777), file), /they can write to/],
  [
    'behind a link in an open folder',
    (file) => {
      const open = join(file, '../../open');
      mkdirSync(open);
      chmodSync(open, 0o777);
      symlinkSync(file, join(open, 'link.yaml'));
      return join(open, 'link.yaml');
    },
    /they can write to .*open/,
  ],
  [
    'that a link of root leads to in an open folder',
    (file) => {
      const open = join(file, '../../open');
      mkdirSync(open);
      chmodSync(open, 0o777);
      renameSync(file, join(open, 'real.yaml'));
      symlinkSync(join(open, 'real.yaml'), file);
      return file;
    },
    /they can write to .*open/,
  ],
];

const placed = (root: string): string => {
  const folder = join(root, 'a/etc');
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const file = join(folder, 'given.yaml');
  writeFileSync(file, '{}\n', { mode: 0o644 });
  return file;
};

describe('the owner and mode check on configuration, key and password files', () => {
  for (const [name, read] of READERS)
    for (const [way, set, says] of WAYS)
      it.skipIf(!isRoot)(`L16: ${name} ${way} -> PERMISSION`, async () => {
        await using folder = await temporaryDirectory('writers');
        const file = set(placed(folder.path));
        expect(await answerOf(() => read(file))).toBe('PERMISSION');
        await expect((async () => read(file))()).rejects.toThrow(says);
      });

  for (const [name, read] of READERS)
    it(`accepts ${name} of the own user with mode 0600 or 0644, also in a world-writable sticky folder such as /tmp`, async () => {
      await using folder = await temporaryDirectory('writers');
      const file = placed(folder.path);
      for (const mode of [0o600, 0o644]) {
        chmodSync(file, mode);
        expect(await answerOf(() => read(file))).not.toBe('PERMISSION');
      }
      chmodSync(join(file, '..'), 0o1777);
      expect(await answerOf(() => read(file))).not.toBe('PERMISSION');
    });

  it.skipIf(!isRoot)('L16: that another user put into a folder like /tmp -> PERMISSION', async () => {
    await using folder = await temporaryDirectory('writers');
    const file = placed(folder.path);
    chmodSync(join(file, '..'), 0o1777);
    chownSync(file, MALLORY, MALLORY);
    // Without --config: what a build finds in its working directory.
    expect(await answerOf(() => readConfiguration({}, join(file, '..')))).toBe('ACCEPT');
    renameSync(file, join(file, '../fleet-scheduler.yaml'));
    expect(await answerOf(() => readConfiguration({}, join(file, '..')))).toBe('PERMISSION');
  });
});
