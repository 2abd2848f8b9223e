import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { OCI_MANIFEST } from '#bundles/media-types';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { saveFailure } from '../../../agent/store/applied/failures.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import { readBundles, saveBundle } from '../../../agent/store/bundles.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { outboxSize } from '../../../agent/store/outbox/outbox.ts';
import { readSiteValues, saveSiteValues } from '../../../agent/store/site-values.ts';
import type { State } from '../../../agent/store/state.ts';
import { saveStatement } from '../../../agent/store/trust.ts';
import { createWorld, NOW, onePackage, storedBlobs, testEdge } from '../world.ts';

const rowsIn = ({ db }: State, table: string, where = 'true'): number =>
  db.prepare(`SELECT count(*) FROM ${table} WHERE ${where}`).pluck().get() as number;

/** One bundle as its acceptance leaves it behind: a row, statements, blobs, values of the site and a package that failed. */
const leave = (state: State, number: number): Digest => {
  const blob = Buffer.from(`manifest ${number}`);
  const digest = digestOf(blob);
  const descriptor = { mediaType: OCI_MANIFEST, digest, size: blob.byteLength };
  const config = { assignments: [], closure: [] };
  writeFileSync(state.blobs.path(digest), blob);
  saveBundle(state, {
    ...descriptor,
    kind: 'host',
    manifest: { ...descriptor, config: descriptor, layers: [] },
    config,
  } as unknown as Bundle);
  const statement = { digest, version: number, issuedAt: undefined, expires: undefined, envelopes: [] };
  saveStatement(state, 'bundle', digest, statement);
  saveStatement(state, 'release', 'prod/factory-host', statement);
  saveSiteValues(state, digest, {} as SiteValues);
  const [row] = readPackages(state);
  if (!row?.current) throw new Error('there is no package');
  const ref = { ...row.current, package: digest };
  saveFailure(state, row.assignment, ref, { code: 'CHECK_FAILED', message: 'no', at: '', checks: [] });
  return digest;
};

it('the state keeps the documents of the last hundred bundles and of those that packages run', async () => {
  await using world = await createWorld();
  const { state } = world.agent;
  await world.release(1, [onePackage('app', 'one')]);
  const [current] = readPackages(state).map((row) => row.current);
  const numbers = Array.from({ length: 103 }, (_, index) => index + 2);
  const digests = state.db.transaction(() => numbers.map((number) => leave(state, number)))();
  await collectGarbage(state);
  await collectGarbage(state);
  const tables = ['bundle', 'failed', 'site_values'].map((table) => rowsIn(state, table));
  expect(tables).toEqual([101, 100, 1]);
  const statements = (role: string) => rowsIn(state, 'statement', `role = '${role}'`);
  expect([statements('bundle'), statements('release')]).toEqual([101, 100]);
  const blobs = await storedBlobs(state);
  expect(digests.map((digest) => blobs.has(digest))).toEqual(digests.map((_, index) => index > 2));
  const stored = readBundles(state).map(({ digest }) => digest);
  expect(stored).toContain(current?.bundle);
  expect(readSiteValues(state, current?.siteValues as Digest)).toBeDefined();
});

it('the state keeps no plan of an operation that has ended', async () => {
  await using world = await createWorld();
  const { state } = world.agent;
  await world.release(1, [onePackage('app', 'one'), onePackage('web', 'refuse this')]);
  expect(rowsIn(state, 'operation')).toBe(2);
  expect(rowsIn(state, 'operation', 'plan IS NOT NULL')).toBe(0);
});

it('outbox and database do not grow while a service flaps and no hub answers', async () => {
  await using world = await createWorld();
  const { state } = world.agent;
  const machine = join(world.folder, 'machine');
  writeFileSync(join(machine, 'mended'), '');
  const checks = [{ type: 'exec', name: 'up', argv: ['mended'], timeoutSeconds: 5 }] as const;
  await world.release(1, [onePackage('app', 'one', { checks })]);
  const budget = 10 << 10;
  let minutes = 0;
  const look = async (): Promise<void> => {
    minutes += 10;
    const edge = testEdge(new Date(NOW.getTime() + minutes * 60_000));
    await lookAround({ ...world.agent, edge, policy: { ...world.agent.policy, outboxBytes: budget } });
  };
  const sizes: number[] = [];
  for (let round = 0; round < 6; round++) {
    rmSync(join(machine, 'mended'), { force: true });
    writeFileSync(join(machine, 'live/opt/app'), `by hand ${round}`);
    await look();
    writeFileSync(join(machine, 'mended'), '');
    await look();
    sizes.push(outboxSize(state).bytes);
  }
  // The first and the last round, and the number of those between them.
  expect(sizes.at(-1)).toBeLessThan(budget);
  expect(rowsIn(state, 'outbox')).toBeLessThan(20);
});
