import { existsSync } from 'node:fs';
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it as test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { retryPackages } from '../../../agent/apply/operator/retry-packages.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import { rollBackPackage } from '../../../agent/apply/operator/roll-back-package.ts';
import { ageFile, loadOrMakeRecipient } from '../../../agent/hub/age-identity.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { lookAtDrift } from '../../../agent/observe/observe.ts';
import { restoreSecrets } from '../../../agent/apply/restore-secrets.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { findPackage, readPackages } from '../../../agent/store/applied/packages.ts';
import { storedBlobs } from '../world.ts';
import { createSecretWorld, type SecretWorld, secretPackage } from './secret-world.ts';
import { tracesBelow } from './traces-of.ts';

const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';
const OTHER = 'MARKER-other-password-5d2e';
const ALL = [ONE, TWO, OTHER];

const noTraces = async (it: SecretWorld): Promise<void> => {
  expect(await tracesBelow(it.agent.state.directory, ALL)).toEqual([]);
};

describe('a secret of a host package', () => {
  test('becomes a file that only its owner can read, and is nowhere in the state directory', async () => {
    await using it = await createSecretWorld();
    const secrets = { db: await it.seal('db', { password: ONE }) };
    const { packages } = await it.take({ secrets, packages: [secretPackage('app', 'db', 'password')] });
    expect(packages).toEqual([{ assignment: 'app', outcome: 'created' }]);
    expect(await it.read('/run/app/password')).toBe(ONE);
    expect((await stat(it.at('/run/app/password'))).mode & 0o777).toBe(0o600);
    expect(await lookAtDrift(it.agent)).toEqual([{ assignment: 'app', drift: [] }]);
    await noTraces(it);
  });

  test('is changed alone when its set changes: other packages are not touched', async () => {
    await using it = await createSecretWorld();
    const other = await it.seal('other', { token: OTHER });
    const packages = [secretPackage('app', 'db', 'password'), secretPackage('tool', 'other', 'token')];
    await it.take({ secrets: { db: await it.seal('db', { password: ONE }), other }, packages });
    const db = await it.seal('db', { password: TWO }, { version: 2 });
    const again = await it.take({ siteVersion: 2, secrets: { db, other } });
    expect(again.packages).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(await it.read('/run/app/password')).toBe(TWO);
    expect(await it.read('/run/tool/token')).toBe(OTHER);
    await noTraces(it);
  });

  test('sealed again with the same content changes nothing on the machine', async () => {
    await using it = await createSecretWorld();
    const packages = [secretPackage('app', 'db', 'password')];
    await it.take({ secrets: { db: await it.seal('db', { password: ONE }) }, packages });
    const before = (await stat(it.at('/run/app/password'))).mtimeMs;
    await it.take({
      siteVersion: 2,
      secrets: { db: await it.seal('db', { password: ONE }, { version: 2 }) },
    });
    expect((await stat(it.at('/run/app/password'))).mtimeMs).toBe(before);
    expect(findPackage(it.agent.state, 'app')?.status).toBe('healthy');
  });

  test('is removed with its package', async () => {
    await using it = await createSecretWorld();
    const secrets = { db: await it.seal('db', { password: ONE }) };
    await it.take({
      secrets,
      packages: [secretPackage('app', 'db', 'password'), secretPackage('b', 'db', 'password')],
    });
    expect(await it.read('/run/b/password')).toBe(ONE);
    await it.take({ secrets, release: 2, packages: [secretPackage('app', 'db', 'password')] });
    expect(existsSync(it.at('/run/b'))).toBe(false);
    expect(await it.read('/run/app/password')).toBe(ONE);
    await noTraces(it);
  });

  test('that was edited or deleted is corrected, and reported without its content', async () => {
    await using it = await createSecretWorld();
    const secrets = { db: await it.seal('db', { password: ONE }) };
    await it.take({ secrets, packages: [secretPackage('app', 'db', 'password')] });
    await writeFile(it.at('/run/app/password'), TWO);
    await chmod(it.at('/run/app/password'), 0o644);
    const [seen] = await lookAtDrift(it.agent);
    expect(seen?.drift.map(({ what }) => what)).toEqual(['content', 'mode']);
    await lookAround(it.agent);
    expect(await it.read('/run/app/password')).toBe(ONE);
    expect((await stat(it.at('/run/app/password'))).mode & 0o777).toBe(0o600);
    expect(it.events().map(({ type }) => type)).toContain('corrected');
    await noTraces(it);
  });

  test('that a boot removed from memory is written again before anything else, also with onDrift "report"', async () => {
    await using it = await createSecretWorld();
    const agent = { ...it.agent, policy: { ...it.agent.policy, onDrift: 'report' as const } };
    const secrets = { db: await it.seal('db', { password: ONE }) };
    await it.take({ secrets, packages: [secretPackage('app', 'db', 'password')] });
    const events = it.events().length;
    await rm(it.at('/run'), { recursive: true });
    expect(await restoreSecrets(agent)).toEqual([{ assignment: 'app', paths: ['/run/app/password'] }]);
    await rm(it.at('/run'), { recursive: true });
    const booted = { ...agent, edge: { ...agent.edge, bootId: 'boot-2' } };
    expect(await lookAround(booted)).toEqual({ packages: [], drift: [{ assignment: 'app', drift: [] }] });
    expect(await it.read('/run/app/password')).toBe(ONE);
    expect(it.events().length).toBe(events);
  });

  test('that was deleted is written again and reported', async () => {
    await using it = await createSecretWorld();
    const secrets = { db: await it.seal('db', { password: ONE }) };
    await it.take({ secrets, packages: [secretPackage('app', 'db', 'password')] });
    await lookAround(it.agent);
    const count = it.events().length;
    await rm(it.at('/run/app/password'));
    await lookAround(it.agent);
    expect(await it.read('/run/app/password')).toBe(ONE);
    expect(it.events().slice(count)).toMatchObject([
      {
        type: 'corrected',
        assignment: 'app',
        message: 'a file of a secret was missing',
        detail: { changes: [{ key: 'secret:/run/app/password', outcome: 'created', reason: 'missing' }] },
      },
    ]);
    await lookAround(it.agent);
    expect(it.events()).toHaveLength(count + 1);
    await noTraces(it);
  });

  test('is rolled back with its package to the former secret', async () => {
    await using it = await createSecretWorld();
    const packages = [secretPackage('app', 'db', 'password')];
    const first = await it.seal('db', { password: ONE });
    await it.take({ secrets: { db: first }, packages });
    const db = await it.seal('db', { password: TWO }, { version: 2 });
    await it.take({ siteVersion: 2, secrets: { db } });
    expect(await storedBlobs(it.agent.state)).toContain(digestOf(first));
    expect(await rollBackPackage(it.agent, 'app', 'the new password is wrong')).toMatchObject({
      outcome: 'configured',
    });
    expect(await it.read('/run/app/password')).toBe(ONE);
    await noTraces(it);
  });

  test('that makes the package fail is rolled back, and tried again when the set changes', async () => {
    await using it = await createSecretWorld();
    const check = ['/bin/sh', '-c', `grep -q first "${it.at('/run/app/password')}"`];
    const packages = [
      secretPackage('app', 'db', 'password', {
        checks: [{ type: 'exec', name: 'reads', argv: check, timeoutSeconds: 5 }],
      }),
    ];
    await it.take({ secrets: { db: await it.seal('db', { password: ONE }) }, packages });
    const bad = await it.seal('db', { password: TWO }, { version: 2 });
    const failed = await it.take({ siteVersion: 2, secrets: { db: bad } });
    expect(failed.packages).toMatchObject([{ outcome: 'failed', code: 'CHECK_FAILED', rolledBack: true }]);
    expect(await it.read('/run/app/password')).toBe(ONE);
    expect(await reconcile(it.agent)).toMatchObject([
      { outcome: 'failed', message: expect.stringContaining('not tried again') },
    ]);
    const good = await it.seal('db', { password: `${ONE}-first-again` }, { version: 3 });
    const mended = await it.take({ siteVersion: 3, secrets: { db: good } });
    expect(mended.packages).toMatchObject([{ assignment: 'app', outcome: 'configured' }]);
    await noTraces(it);
  });
});

describe('a check that prints a secret', () => {
  test('is reported with a placeholder for the secret, which is stored nowhere', async () => {
    await using it = await createSecretWorld();
    const script = `cat "${it.at('/run/app/password')}" >&2; echo " is wrong" >&2; exit 1`;
    const argv = ['/bin/sh', '-c', script];
    const checks = [{ type: 'exec', name: 'reads', argv, timeoutSeconds: 5 }] as const;
    const packages = [secretPackage('app', 'db', 'password', { checks })];
    const secrets = { db: await it.seal('db', { password: `${ONE}\n` }) };
    const { packages: failed } = await it.take({ secrets, packages });
    expect(failed).toMatchObject([{ code: 'CHECK_FAILED' }]);
    const said = readOutbox(it.agent.state).map(({ line }) => line);
    expect(said.join('\n')).toContain('"output":"[secret]\\n is wrong"');
    await noTraces(it);
  });
});

describe('a package whose secret is not available', () => {
  const two = [secretPackage('app', 'db', 'password'), { id: 'plain', files: { '/opt/plain': 'x' } }];

  test('fails with SECRET_UNREADABLE when the set is sealed to others, while other packages are applied', async () => {
    await using it = await createSecretWorld();
    const { recipient } = await generateAgeIdentity();
    const db = await it.seal('db', { password: ONE }, { to: [recipient] });
    const { packages } = await it.take({ secrets: { db }, packages: two });
    expect(packages).toMatchObject([
      { assignment: 'app', outcome: 'failed', code: 'SECRET_UNREADABLE' },
      { assignment: 'plain', outcome: 'created' },
    ]);
    expect(packages[0]?.message).toContain('db');
    const again = await it.take({ siteVersion: 2, secrets: { db: await it.seal('db', { password: ONE }) } });
    expect(again.packages).toMatchObject([{ assignment: 'app', outcome: 'created' }]);
  });

  test('fails with SECRET_MISSING without such a set or key, and is applied when the set comes', async () => {
    await using it = await createSecretWorld();
    const without = await it.take({ packages: two });
    expect(without.packages).toMatchObject([{ code: 'SECRET_MISSING' }, { outcome: 'created' }]);
    const wrong = await it.take({ siteVersion: 2, secrets: { db: await it.seal('db', { user: OTHER }) } });
    expect(wrong.packages).toMatchObject([
      { code: 'SECRET_MISSING', message: expect.stringContaining('password') },
    ]);
    const right = await it.take({ siteVersion: 3, secrets: { db: await it.seal('db', { password: ONE }) } });
    expect(right.packages).toEqual([{ assignment: 'app', outcome: 'created' }]);
    await noTraces(it);
  });

  test('in a bundle with wrong content is refused, and applied from a correct bundle afterwards', async () => {
    await using it = await createSecretWorld();
    const app = secretPackage('app', 'db', 'password');
    const db = await it.seal('db', { password: ONE });
    // Without package.json, which is what says that it uses the set.
    const lying = await it.take({ secrets: { db }, packages: [{ ...app, lie: true }] });
    expect(lying.packages).toMatchObject([{ code: 'DIGEST_MISMATCH' }]);
    await it.take({ secrets: { db }, release: 2, packages: [app] });
    const changed = await it.seal('db', { password: TWO }, { version: 2 });
    const { packages } = await it.take({ siteVersion: 2, secrets: { db: changed } });
    expect(packages).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(await it.read('/run/app/password')).toBe(TWO);
  });

  test('H20: a set of another site is not opened here, though it is sealed to this agent too', async () => {
    await using it = await createSecretWorld();
    const db = await it.seal('db', { password: ONE }, { site: 'plant-8' });
    const { packages } = await it.take({ secrets: { db }, packages: two });
    expect(packages).toMatchObject([{ outcome: 'failed', code: 'WRONG_SITE' }, { outcome: 'created' }]);
    expect(existsSync(it.at('/run'))).toBe(false);
  });

  test('fails when the age identity is missing, and succeeds when it is restored and an operator retries', async () => {
    await using it = await createSecretWorld();
    const file = ageFile(it.agent.state.directory);
    const identity = await readFile(file);
    await rm(file);
    const db = await it.seal('db', { password: ONE });
    const { packages } = await it.take({ secrets: { db }, packages: two });
    expect(packages).toMatchObject([
      { code: 'SECRET_UNREADABLE', message: expect.stringContaining('agent.age') },
      {},
    ]);
    await writeFile(file, identity, { mode: 0o600 });
    expect(await retryPackages(it.agent, ['app'])).toEqual([{ assignment: 'app', outcome: 'created' }]);
  });
});

describe('an agent that was enrolled again', () => {
  test('opens sets sealed to its new identity, and no sets sealed to the old one', async () => {
    await using it = await createSecretWorld();
    const packages = [secretPackage('app', 'db', 'password')];
    const old = await it.seal('db', { password: ONE });
    await it.take({ secrets: { db: old }, packages });
    await rm(ageFile(it.agent.state.directory));
    const recipient = await loadOrMakeRecipient(it.agent.state.directory);
    expect(recipient).not.toBe(it.recipient);
    expect(await lookAtDrift(it.agent)).toMatchObject([{ drift: [], error: { code: 'SECRET_UNREADABLE' } }]);
    expect(await it.read('/run/app/password')).toBe(ONE);
    const db = await it.seal('db', { password: TWO }, { version: 2, to: [recipient] });
    const { packages: done } = await it.take({ siteVersion: 2, secrets: { db } });
    expect(done).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(await it.read('/run/app/password')).toBe(TWO);
    expect(await lookAtDrift(it.agent)).toEqual([{ assignment: 'app', drift: [] }]);
    await noTraces(it);
  });
});

describe('the sealed files of a site', () => {
  test('must all come with the site statement or be stored already', async () => {
    await using it = await createSecretWorld();
    const db = await it.seal('db', { password: ONE });
    const lost = await it.bring({
      secrets: { db },
      packages: [secretPackage('app', 'db', 'password')],
      tamper: (digest, bytes) => (digest === digestOf(db) ? undefined : bytes),
    });
    await expect(importMedium(it.agent, lost)).rejects.toMatchObject({ code: 'MISSING_BLOB' });
    expect(readPackages(it.agent.state)).toEqual([]);
    const changed = await it.bring({
      secrets: { db },
      tamper: (digest, bytes) => (digest === digestOf(db) ? Buffer.from(bytes.toReversed()) : bytes),
    });
    await expect(importMedium(it.agent, changed)).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    await it.take({ secrets: { db }, packages: [secretPackage('app', 'db', 'password')] });
    await importMedium(it.agent, lost);
    expect(findPackage(it.agent.state, 'app')?.status).toBe('healthy');
  });

  test('are removed when neither the site statement nor a package names them', async () => {
    await using it = await createSecretWorld();
    const packages = [secretPackage('app', 'db', 'password')];
    const sealed = await Promise.all(
      [1, 2, 3].map((version) => it.seal('db', { password: `${ONE}${version}` }, { version })),
    );
    const held = async () => {
      await collectGarbage(it.agent.state);
      const blobs = await storedBlobs(it.agent.state);
      return sealed.map((bytes) => blobs.has(digestOf(bytes)));
    };
    await it.take({ secrets: { db: sealed[0] as Buffer }, packages });
    await it.take({ siteVersion: 2, secrets: { db: sealed[1] as Buffer } });
    expect(await held()).toEqual([true, true, false]);
    await it.take({ siteVersion: 3, secrets: { db: sealed[2] as Buffer } });
    expect(await held()).toEqual([false, true, true]);
  });

  test('the state directory stores secret sets sealed, and only the owner can read the identity', async () => {
    await using it = await createSecretWorld();
    const { directory } = it.agent.state;
    expect((await stat(ageFile(directory))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(directory, 'agent.age'), 'utf8')).toMatch(/^AGE-SECRET-KEY-1[0-9A-Z]+\n$/);
    expect(await tracesBelow(directory, [it.recipient])).toEqual([expect.stringContaining('plain in')]);
  });
});
