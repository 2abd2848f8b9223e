import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generatePrivateKey } from '#bundles/trust/keys/key';
import { openLayout } from '#bundles/formats/layout/layout';
import { advanceRoot, createRoot } from '#bundles/trust/root/root';
import RootAddAuthority from '../../../../scheduler/commands/root/add-authority.ts';
import { KEY_ROLES } from '../../../../scheduler/keys/places/read-key-places.ts';
import { addAuthority } from '../../../../scheduler/keys/root/add-authority.ts';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../../scheduler/load/releases/audit-log.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { runCommandClass } from '../../commands/run-command-class.ts';
import { emptyLayout } from './empty-layout.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const withKeys = async () => {
  const folder = await temporaryDirectory();
  await initDevRoot(folder.path, 'acme', NOW);
  return { path: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

/** As older versions made them. */
const withOldKeys = async (dev = true) => {
  const made = await withKeys();
  const { key, root } = await openKeyDirectory(made.path);
  const keys = await Promise.all(KEY_ROLES.map(async (role) => [role, [(await key(role)).public]] as const));
  const bytes = await createRoot(
    { fleet: 'acme', version: 1, expires: root.expires, dev, keys: Object.fromEntries(keys) as never },
    [await key('root')],
  );
  await writeFile(join(made.path, '1.root.json'), bytes);
  await rm(join(made.path, 'ca.key'));
  return made;
};

test('a new development root has an authority, whose key only its owner can read', async () => {
  await using made = await withKeys();
  const directory = await openKeyDirectory(made.path);
  const { certificate, key } = await directory.authority();
  expect(directory.root.agentCertificates).toEqual([certificate]);
  expect((await stat(join(made.path, 'ca.key'))).mode & 0o777).toBe(0o600);
  expect(key.public.pem).toContain('PUBLIC KEY');
  await expect(addAuthority(made.path, NOW)).rejects.toMatchObject({ code: 'ALREADY_ENROLLED' });
});

test('a root without an authority is read, and hints at root add-authority when one is needed', async () => {
  await using made = await withOldKeys();
  const directory = await openKeyDirectory(made.path);
  expect(directory.root.agentCertificates).toEqual([]);
  await expect(directory.authority()).rejects.toMatchObject({
    code: 'KEY_MISSING',
    hint: expect.stringContaining('root add-authority'),
  });
});

test('a development root without an authority gets one in its next version, which agents accept', async () => {
  await using made = await withOldKeys();
  const before = (await openKeyDirectory(made.path)).root;
  const next = await addAuthority(made.path, NOW);
  const after = await openKeyDirectory(made.path);
  expect(after.roots.map(({ version }) => version)).toEqual([1, 2]);
  expect(advanceRoot(before, [next]).version).toBe(2);
  expect(next).toMatchObject({ expires: before.expires, dev: true });
  expect(Object.values(next.roles).map(({ threshold }) => threshold)).toEqual([1, 1, 1, 1]);
  expect((await after.authority()).certificate).toBe(next.agentCertificates[0]);
});

test('after an interruption a repeated add-authority uses the key that was written', async () => {
  await using made = await withOldKeys();
  await writeFile(join(made.path, 'ca.key'), generatePrivateKey(), { mode: 0o600 });
  await addAuthority(made.path, NOW);
  await (await openKeyDirectory(made.path)).authority();
  expect((await readdir(made.path)).filter((name) => name.startsWith('.tmp'))).toEqual([]);
});

test("another authority key than the root's is refused with its file", async () => {
  await using made = await withKeys();
  const file = join(made.path, 'ca.key');
  await writeFile(file, generatePrivateKey());
  await expect((await openKeyDirectory(made.path)).authority()).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
    at: { file },
  });
});

test('root add-authority leaves its audit log entry, with person, reason, and the root before and after', async () => {
  await using made = await withOldKeys();
  const layout = await emptyLayout(join(made.path, 'layout'));
  const flags = ['--keys', made.path, '--layout', layout, '--person', 'ada', '--reason', 'agents need it'];
  succeed(await runCommandClass(RootAddAuthority, [...flags, '--now', '2026-11-21T08:00:00Z']));
  const { roots } = await openKeyDirectory(made.path);
  const { entries } = await readAuditLog(await openLayout(layout), roots);
  expect(entries.flatMap((entry) => (entry.kind === 'change' ? [entry.predicate] : []))).toMatchObject([
    {
      change: 'root add-authority',
      about: 'root 2',
      person: 'ada',
      reason: 'agents need it',
      old: { version: 1, digest: roots[0]?.digest, authorities: [] },
      new: { version: 2, digest: roots[1]?.digest, authorities: [expect.anything()] },
    },
  ]);
});
