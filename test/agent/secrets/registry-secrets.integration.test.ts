import { describe, expect, it as test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { pullRelease } from '../../../agent/acquire/pull-release.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { startRegistryServer } from '../registry-server.ts';
import { storedBlobs } from '../world.ts';
import { createSecretWorld, secretPackage } from './secret-world.ts';
import { tracesBelow } from './traces-of.ts';

const ONE = 'MARKER-first-password-8c1f';
const TWO = 'MARKER-second-password-77ab';

describe('sealed secrets from a registry', () => {
  test('come with the site statement, and only a changed set is fetched again', async () => {
    await using it = await createSecretWorld();
    await using server = await startRegistryServer();
    await using registry = server.open();
    const poll = async () => {
      const seen = await pollRegistry(it.agent, registry, true);
      await pullRelease(it.agent, registry, seen, (work) => work());
      return reconcile(it.agent);
    };
    const packages = [secretPackage('app', 'db', 'password'), secretPackage('tool', 'web', 'password')];
    const web = await it.seal('web', { password: ONE });
    server.publish(
      await it.bring({ secrets: { db: await it.seal('db', { password: ONE }), web }, packages }),
    );
    expect(await poll()).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }]);
    expect(await it.read('/run/app/password')).toBe(ONE);

    const db = await it.seal('db', { password: TWO }, { version: 2 });
    server.publish(await it.bring({ siteVersion: 2, secrets: { db, web }, packages }));
    server.asked.length = 0;
    expect(await poll()).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(await it.read('/run/app/password')).toBe(TWO);
    expect(server.asked.some((line) => line.includes(digestOf(db)))).toBe(true);
    expect(server.asked.some((line) => line.includes(digestOf(web)))).toBe(false);
    expect(await storedBlobs(it.agent.state)).toContain(digestOf(web));
    expect(await tracesBelow(it.agent.state.directory, [ONE, TWO])).toEqual([]);
  });
});
