import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import { addDays } from '#bundles/time';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { verdict } from '../../bundles/verdict.ts';
import {
  createTestFleet,
  packTestBundle,
  rotateRoot,
  type TestFleet,
  type TestMedium,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage, SITE, type World } from '../world.ts';

/** What an agent has written down, but for what it tells about itself: every file below its state, every row of its database. */
const kept = async (world: World): Promise<{ readonly files: readonly string[]; readonly text: string }> => {
  const { directory, db } = world.agent.state;
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('state.db'));
  const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))));
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
  // An event says with which code and about which digest something was refused, and goes on in the agent's own chain.
  const rows = tables
    .filter((table) => !['outbox', 'chain', 'refusal'].includes(table))
    .flatMap((table) => db.prepare(`SELECT * FROM "${table}"`).raw().all() as unknown[][]);
  const cells = rows.flat().map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell)));
  return {
    files: files.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1)).toSorted(),
    text: [...contents.map((bytes) => bytes.toString('latin1')), ...cells].join('\n'),
  };
};

/** Some pieces of every blob on a medium. */
const piecesOf = async (medium: string): Promise<readonly string[]> => {
  const folder = join(medium, 'blobs/sha256');
  const blobs = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')),
  );
  return blobs.flatMap((text) =>
    [0.1, 0.3, 0.5, 0.7, 0.9].map((part) => text.substr(Math.floor(text.length * part), 24)),
  );
};

type Attack = (world: World) => Promise<string>;

const bundleOf = (world: World, content: string, fleet = world.fleet) =>
  packTestBundle(fleet, [onePackage('app', content)]);
const siteOf = (world: World, version: number) => ({
  site: SITE,
  version,
  agents: [{ name: 'kiosk-1', key: world.agent.identity.key }],
});

/** A medium of this site by somebody who has these keys. */
const by = (world: World, keys: Partial<TestFleet['keys']>, what?: Partial<TestMedium>): Promise<string> => {
  const fleet = { ...world.fleet, keys: { ...world.fleet.keys, ...keys } };
  return writeTestMedium(join(world.folder, 'forged'), fleet, {
    site: siteOf(world, 1),
    release: { version: 6, bundle: bundleOf(world, 'evil', fleet) },
    ...what,
  });
};
const stranger = loadSigningKey(generatePrivateKey());

const releaseOf =
  (change: (world: World) => Partial<NonNullable<TestMedium['release']>>): Attack =>
  (world) =>
    world.medium({ release: { version: 6, bundle: bundleOf(world, 'evil'), ...change(world) } });

/** A good medium whose table of contents was changed by hand. */
const relisted =
  (change: (medium: Medium) => Medium): Attack =>
  async (world) => {
    const medium = await world.medium({ release: { version: 6, bundle: bundleOf(world, 'evil') } });
    const file = join(medium, MEDIUM_FILE);
    await writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, 'utf8')) as Medium)));
    return medium;
  };
const withoutRole = (role: string): Attack =>
  relisted((medium) => ({ ...medium, documents: medium.documents.filter((it) => it.role !== role) }));

const layerChanged =
  (change: (bytes: Buffer) => Buffer | undefined): Attack =>
  (world) => {
    const bundle = bundleOf(world, 'evil');
    const layer = bundle.layers.get('app')?.digest;
    return world.medium({
      release: { version: 6, bundle },
      tamper: (digest, bytes) => (digest === layer ? change(bytes) : bytes),
    });
  };

/** Refused while the documents are judged: nothing of the medium has been believed yet. */
const ATTACKS: readonly (readonly [title: string, attack: Attack])[] = [
  ['M3: signed by a stranger -> UNKNOWN_KEY', (world) => by(world, { release: stranger })],
  [
    'M6: a release and an order signed by the lease key -> UNKNOWN_KEY',
    (world) => by(world, { release: world.fleet.keys.lease }),
  ],
  [
    'M6: a bundle signed by the release key -> UNKNOWN_KEY',
    (world) => by(world, { bundle: world.fleet.keys.release }),
  ],
  ['M12: an older release -> ROLLBACK', releaseOf(() => ({ version: 1 }))],
  ['M14: another content under the same version -> EQUIVOCATION', releaseOf(() => ({ version: 5 }))],
  [
    'M15: an expired release -> EXPIRED',
    releaseOf(({ fleet }) => ({ version: 6, expires: addDays(fleet.epoch, 10) })),
  ],
  [
    'M19: a release from the far future -> FROM_FUTURE',
    releaseOf(() => ({ version: 6, issuedAt: addDays(NOW, 30) })),
  ],
  [
    'M20: for another site -> WRONG_SITE',
    (world) => by(world, {}, { site: { ...siteOf(world, 2), site: 'plant-8' } }),
  ],
  [
    'M22: of another fleet with the same names -> EQUIVOCATION',
    async (world) => {
      const foreign = await createTestFleet(world.fleet.name);
      return writeTestMedium(join(world.folder, 'foreign'), foreign, {
        site: siteOf(world, 2),
        release: { version: 6, bundle: bundleOf(world, 'evil', foreign) },
      });
    },
  ],
  ['M23: a bundle whose statement is left out -> BUNDLE_UNSIGNED', withoutRole('bundle')],
  [
    'M24: a bundle that no release names -> EXTRA_BUNDLE',
    (world) =>
      world.medium({
        release: { version: 6, bundle: bundleOf(world, 'good') },
        extra: [bundleOf(world, 'evil')],
      }),
  ],
  [
    'M28: a bundle that its own release revokes -> REVOKED',
    releaseOf((world) => ({ version: 6, revoked: [bundleOf(world, 'evil').digest] })),
  ],
  [
    'M30: a root that its old officers did not sign -> ROOT_THRESHOLD_OLD',
    async (world) => {
      const officers = [stranger, loadSigningKey(generatePrivateKey())] as const;
      const { fleet } = world;
      const next = await rotateRoot({ ...fleet, keys: { ...fleet.keys, officers } }, {});
      return writeTestMedium(join(world.folder, 'root'), next, { site: siteOf(world, 2) });
    },
  ],
  [
    'M31: a root that skips one -> ROOT_VERSION',
    async (world) => {
      const third = await rotateRoot(await rotateRoot(world.fleet, {}), {});
      const roots = [third.roots[0], third.roots[2]].flatMap((root) => root ?? []);
      return writeTestMedium(join(world.folder, 'jump'), { ...third, roots }, { site: siteOf(world, 2) });
    },
  ],
];

/** Refused while blobs are brought, each verified by what is signed before it is kept. */
const DAMAGES: readonly (readonly [title: string, attack: Attack])[] = [
  [
    'M26: other bytes in a layer -> DIGEST_MISMATCH',
    layerChanged((bytes) => Buffer.from(bytes).fill(1, 20, 24)),
  ],
  ['M27: a longer layer -> SIZE_MISMATCH', layerChanged((bytes) => Buffer.concat([bytes, Buffer.alloc(1)]))],
  ['M27: a layer that is gone -> MISSING_BLOB', layerChanged(() => undefined)],
];

const codeOf = (title: string): string => title.split(' -> ')[1] ?? '';

describe('a refused medium', () => {
  const refuse = async (world: World, [title, attack]: (typeof ATTACKS)[number]) => {
    const medium = await attack(world);
    const before = await kept(world);
    const strange = (await piecesOf(medium)).filter((piece) => !before.text.includes(piece));
    expect(strange.length).toBeGreaterThan(0);
    expect(await verdict(() => importMedium(world.agent, medium))).toBe(codeOf(title));
    const after = await kept(world);
    return { before, after, found: strange.filter((piece) => after.text.includes(piece)) };
  };
  /** An agent that has release 5. */
  const settled = async (): Promise<World> => {
    const world = await createWorld();
    await world.release(5, [onePackage('app', 'good')]);
    return world;
  };

  it.each(ATTACKS)('leaves no byte in the store: %s', async (...attack) => {
    await using world = await settled();
    const { before, after, found } = await refuse(world, attack);
    expect(after.files).toEqual(before.files);
    expect(found).toEqual([]);
  });

  it.each(DAMAGES)('leaves only blobs that the signed bundle names: %s', async (...attack) => {
    await using world = await settled();
    const medium = await attack[1](world);
    const before = await kept(world);
    expect(await verdict(() => importMedium(world.agent, medium))).toBe(codeOf(attack[0]));
    const after = await kept(world);
    const fresh = after.files.filter((file) => !before.files.includes(file));
    const signed = bundleOf(world, 'evil');
    const layers = new Set([...signed.layers.values()].map(({ digest }) => digest));
    // What is whole and signed for need not be fetched again; the layer that is not, is not there.
    const allowed = [...signed.blobs.keys()]
      .filter((digest) => !layers.has(digest))
      .map((it) => `blobs/sha256/${hexOf(it)}`);
    expect(fresh.filter((file) => !allowed.includes(file))).toEqual([]);
    for (const file of fresh) {
      const bytes = await readFile(join(world.agent.state.directory, file));
      expect(`blobs/sha256/${hexOf(digestOf(bytes))}`).toBe(file);
    }
  });
});
