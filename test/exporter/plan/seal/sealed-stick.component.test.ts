import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { agentFolder } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { refusal } from '../../../bundles/trust/age/in-memory.ts';
import { KIOSK } from '../../world.ts';
import { makeSetWorld, type SetWorld } from '../../write/set-world.ts';

let world: SetWorld;
let agent: AgeIdentity;
beforeAll(async () => {
  world = await makeSetWorld();
  agent = await generateAgeIdentity();
  const agents = [{ name: 'line-1', channel: KIOSK, key: world.agent, recipient: agent.recipient }];
  await world.layout.site({ site: 'plant-7', version: 2, agents });
  await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 9 }]);
});
afterAll(() => world[Symbol.asyncDispose]());

const bytesOf = async (stick: string): Promise<ReadonlyMap<string, Buffer>> => {
  const entries = await readdir(stick, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      files.map(async (file) => [file.slice(stick.length + 1), await readFile(file)] as const),
    ),
  );
};

/** What would tell a finder whose stick it is and what it brings. */
const TELLING = [
  'plant-7',
  'line-1',
  'kiosk',
  'acme',
  'registry.example',
  'sha256:',
  'oci-layout',
  'web@',
  'prod',
];

const tellingIn = (files: ReadonlyMap<string, Buffer>, allowed: RegExp): readonly string[] =>
  [...files].flatMap(([path, bytes]) =>
    TELLING.filter((word) => path.includes(word) || bytes.includes(word))
      .map((word) => `${path}: ${word}`)
      .filter((found) => !allowed.test(found)),
  );

describe('a sealed medium', () => {
  it('shows no site, channel or image to someone without an identity', async () => {
    // What an agent wrote is there from before, and so is a receipt of a medium that was not sealed.
    await world.exportSet(['open']);
    const receipt = `fleet/receipts/${agentFolder('plant-7/line-1')}.sigstore.json`;
    const stick = world.path('open');
    expect((await bytesOf(stick)).has(receipt)).toBe(true);
    await mkdir(join(stick, 'fleet/requests'), { recursive: true });
    await writeFile(join(stick, 'fleet/requests/x.json'), '{"site":"plant-7"}');
    // The search would find it.
    expect(tellingIn(await bytesOf(stick), /^$/).length).toBeGreaterThan(5);

    await world.exportSet(['open'], {}, { sealTo: [] });
    const files = await bytesOf(stick);
    // The set and the files have digests: of what, nobody can tell.
    expect(tellingIn(files, /^(fleet\/requests\/x\.json|fleet\/parts\.json: sha256:)/)).toEqual([]);
    expect(files.has(receipt)).toBe(false);
    expect(files.get('fleet/requests/x.json')?.toString()).toBe('{"site":"plant-7"}');
    expect([...files.keys()].filter((path) => path.endsWith('.tar.age')).length).toBeGreaterThan(1);
  });

  it('opens for its agent as the same medium, and for no one else', async () => {
    await world.exportSet(['sealed'], {}, { sealTo: [] });
    const path = world.path('sealed');
    await using medium = await openMedium(path, { unseal: (bytes) => openAge(bytes, [agent.identity]) });
    expect(medium.parts).toMatchObject({ sealed: true, missing: [], damaged: [] });
    expect(medium.medium?.bundles).toHaveLength(1);
    const other = await generateAgeIdentity();
    const stranger = openMedium(path, { unseal: (bytes) => openAge(bytes, [other.identity]) });
    expect((await refusal(() => stranger)).code).toBe('NOT_A_RECIPIENT');
    expect((await refusal(() => openMedium(path))).code).toBe('MEDIUM_SEALED');
  });

  it('is completed by a part that was lost and sealed again', async () => {
    await world.exportSet(['first'], {}, { sealTo: [] });
    await world.exportSet(['again'], { parts: [2] }, { sealTo: [] });
    const [first, again] = [await bytesOf(world.path('first')), await bytesOf(world.path('again'))];
    const [name = ''] = [...again.keys()].filter((path) => path.endsWith('-0002.tar.age'));
    expect(again.get(name)?.equals(first.get(`fleet/parts/${name}`) ?? Buffer.alloc(0))).toBe(false);
    await rm(world.path('first', 'fleet/parts', name));
    const unseal = (bytes: RandomAccess) => openAge(bytes, [agent.identity]);
    await using medium = await openMedium([world.path('first'), world.path('again')], { unseal });
    expect(medium.parts).toMatchObject({ missing: [], damaged: [] });
  });

  it('has one more recipient when it is sealed again, and lists no recipient twice', async () => {
    const office = await generateAgeIdentity();
    await world.exportSet(['more'], {}, { sealTo: [] });
    const { written } = await world.exportSet(['more'], {}, { sealTo: [office.recipient] });
    expect(written).toBeGreaterThan(0);
    await using medium = await openMedium(world.path('more'), {
      unseal: (bytes) => openAge(bytes, [office.identity]),
    });
    expect(medium.parts).toMatchObject({ missing: [], damaged: [] });
    const again = await world.exportSet(['more'], {}, { sealTo: [office.recipient] });
    expect(again.written).toBe(0);
  });

  it('is sealed again when a recipient is replaced, and the former recipient cannot open it', async () => {
    const [gone, come] = [await generateAgeIdentity(), await generateAgeIdentity()];
    await world.exportSet(['swapped'], {}, { sealTo: [gone.recipient] });
    await world.exportSet(['swapped'], {}, { sealTo: [come.recipient] });
    const openAs = (identity: string) =>
      openMedium(world.path('swapped'), { unseal: (bytes) => openAge(bytes, [identity]) });
    await using medium = await openAs(come.identity);
    expect(medium.parts).toMatchObject({ missing: [], damaged: [] });
    expect((await refusal(() => openAs(gone.identity))).code).toBe('NOT_A_RECIPIENT');
  });

  it('with only leases opens for the agents of its sites', async () => {
    await world.layout.lease({ channel: KIOSK, version: 1 });
    await world.exportSet(['leases'], {}, { sealTo: [], leaseOnly: true });
    await using medium = await openMedium(world.path('leases'), {
      unseal: (bytes) => openAge(bytes, [agent.identity]),
    });
    expect(medium.medium?.documents.map(({ role }) => role).toSorted()).toEqual(['lease', 'root']);
  });

  it('cannot be a base without an identity: the error names a release as alternative', async () => {
    await world.exportSet(['base'], {}, { sealTo: [] });
    const error = await refusal(() => world.exportSet(['delta'], {}, { bases: [world.path('base')] }));
    expect(error.code).toBe('MEDIUM_SEALED');
    expect(error.hint).toContain('release:');
  });

  it('is a base when an identity opens it; otherwise the error names the sealed medium', async () => {
    await world.exportSet(['known'], {}, { sealTo: [] });
    const unseal = (bytes: RandomAccess) => openAge(bytes, [agent.identity]);
    const bases = [world.path('known')];
    const { plan } = await world.plan({ bases, open: { unseal } });
    expect(plan.assumed).toBeGreaterThan(50_000);
    const stranger = await generateAgeIdentity();
    const open = { unseal: (bytes: RandomAccess) => openAge(bytes, [stranger.identity]) };
    expect((await refusal(() => world.plan({ bases, open }))).code).toBe('NOT_A_RECIPIENT');
    // The stick itself can be filled again all the same.
    const { written } = await world.exportSet(['known'], {}, { sealTo: [], open });
    expect(written).toBe(0);
  });

  it('is not written for an agent that has reported no recipient', async () => {
    await world.layout.site({
      site: 'plant-8',
      version: 1,
      agents: [{ name: 'line-1', channel: KIOSK, key: world.agent }],
    });
    const error = await refusal(() => world.exportSet(['none'], {}, { sealTo: [], sites: ['plant-8'] }));
    expect(error).toMatchObject({ code: 'RECIPIENT_MISSING', subject: 'plant-8/line-1' });
    await expect(readdir(world.path('none'))).rejects.toThrow('ENOENT');
  });
});
