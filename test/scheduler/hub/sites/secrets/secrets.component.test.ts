import { describe, expect, it, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { generateAgeIdentity, signRecipient } from '#bundles/trust/age/recipient';
import { formatTime } from '#bundles/time';
import { writeSite } from '../../../../../scheduler/hub/sites/write-site.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { readSecretSets } from '../../../../../scheduler/hub/sites/secret-sets.ts';
import { readDocuments } from '../../../../../scheduler/load/releases/artifact.ts';
import { siteReference } from '../../../../../scheduler/load/releases/references.ts';
import { listSecrets, recommendationsFor } from '../../../../../scheduler/hub/sites/secrets/list-secrets.ts';
import { removeSecrets } from '../../../../../scheduler/hub/sites/secrets/remove-secrets.ts';
import { resealSecrets } from '../../../../../scheduler/hub/sites/secrets/reseal-secrets.ts';
import { storeSet } from '../../../../../scheduler/hub/sites/secrets/store-set.ts';
import { ask, enrolled, enrolledHub, NOW, type TestHub, testAgent, testHub } from '../../test-hub.ts';
import {
  agentIn,
  digestIn,
  enrolWithAge,
  filesThatShow,
  hubWithAge,
  newestStatement,
  PASSWORD,
  readStatement,
  sealedIn,
  setIn,
  VALUES,
} from './secret-site.ts';

const address = { fleet: 'acme', site: 'plant-7', name: 'mqtt' };

const reseal = async (hub: TestHub, identities: readonly string[], escrow?: string) =>
  resealSecrets(
    hub.store,
    { site: 'plant-7', name: undefined, identities, escrow },
    await siteSigner(hub),
    NOW,
  );

describe('a secret set', () => {
  it('is sealed to every agent of its site, and the statement names the sealed file', async () => {
    await using hub = await hubWithAge();
    const { one } = hub;
    const two = await enrolWithAge(hub, 'plant-7/press-2');
    const { site, version, readers } = await setIn(hub);
    await writeSite(hub, site, { now: NOW });
    expect([version, readers]).toEqual([1, ['press-1', 'press-2']]);
    const statement = readStatement(hub, site);
    expect(statement.subjects.map(({ name }) => name)).toEqual(['secrets/mqtt', 'site-values']);
    const sealed = await sealedIn(hub, digestIn(statement, 'mqtt'));
    for (const { identity } of [one, two])
      expect(await openSecretSet(sealed, identity, address)).toEqual({
        ...address,
        version: 1,
        values: VALUES,
      });
    expect(agentIn(statement, 'press-1')).toMatchObject({ recipient: one.recipient });
    expect(agentIn(statement, 'press-1')?.unreadable).toBeUndefined();
  });

  it('has a version that continues after a removal, which removes the set from the statement', async () => {
    await using hub = await hubWithAge();
    const { identity } = hub.one;
    await setIn(hub);
    expect((await setIn(hub)).version).toBe(2);
    const site = await removeSecrets(
      hub.store,
      { site: 'plant-7', name: 'mqtt' },
      await siteSigner(hub),
      NOW,
    );
    expect(digestIn(readStatement(hub, site), 'mqtt')).toBeUndefined();
    expect(await listSecrets(hub.store.db, 'plant-7', undefined)).toEqual([]);
    const again = await setIn(hub);
    expect(again.version).toBe(3);
    await writeSite(hub, again.site, { now: NOW });
    const sealed = await sealedIn(hub, digestIn(readStatement(hub, again.site), 'mqtt'));
    expect(await openSecretSet(sealed, identity, address)).toMatchObject({ version: 3 });
  });

  it('for one agent is reported as unreadable to the others', async () => {
    await using hub = await hubWithAge();
    const { one } = hub;
    const two = await enrolWithAge(hub, 'plant-7/press-2');
    const { site, readers } = await setIn(hub, { agents: ['press-2'] });
    await writeSite(hub, site, { now: NOW });
    expect(readers).toEqual(['press-2']);
    const statement = readStatement(hub, site);
    expect(agentIn(statement, 'press-1')?.unreadable).toEqual(['mqtt']);
    expect(agentIn(statement, 'press-2')?.unreadable).toBeUndefined();
    const sealed = await sealedIn(hub, digestIn(statement, 'mqtt'));
    await expect(openSecretSet(sealed, one.identity, address)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
    });
    expect(await openSecretSet(sealed, two.identity, address)).toMatchObject({ values: VALUES });
    const [listed] = await listSecrets(hub.store.db, 'plant-7', undefined);
    expect(listed).toMatchObject({ readers: ['press-2'], locked: [], former: [], escrow: null });
  });

  it('of one site is refused at another site', async () => {
    await using hub = await hubWithAge();
    const { identity } = hub.one;
    const { site } = await setIn(hub);
    await writeSite(hub, site, { now: NOW });
    const sealed = await sealedIn(hub, digestIn(readStatement(hub, site), 'mqtt'));
    await expect(openSecretSet(sealed, identity, { ...address, site: 'plant-8' })).rejects.toMatchObject({
      code: 'WRONG_SITE',
    });
  });
});

describe('a secret set is refused', () => {
  it('for an agent without a recipient, which is named', async () => {
    await using hub = await hubWithAge();
    await enrolled(hub, 'plant-7/press-2');
    const before = (await newestStatement(hub)).predicate.version;
    await expect(setIn(hub)).rejects.toMatchObject({
      code: 'RECIPIENT_MISSING',
      message: expect.stringContaining('plant-7/press-2'),
    });
    expect((await newestStatement(hub)).predicate.version).toBe(before);
    expect((await setIn(hub, { agents: ['press-1'] })).readers).toEqual(['press-1']);
  });

  it.each([
    ['an unknown site', { site: 'plant-9' }, 'SITE_MISSING'],
    ['an unknown agent', { agents: ['press-9'] }, 'AGENT_UNKNOWN'],
    ['nobody', { agents: [] }, 'RECIPIENT_MISSING'],
    ['too much', { values: { big: Buffer.alloc(1 << 20).toString('base64') } }, 'TOO_LARGE'],
  ] as const)('to %s', async (_, order, code) => {
    await using hub = await hubWithAge();
    await expect(setIn(hub, order)).rejects.toMatchObject({ code });
  });

  it('by name when it is removed or resealed and does not exist', async () => {
    await using hub = await hubWithAge();
    const signer = await siteSigner(hub);
    const absent = { site: 'plant-7', name: 'mqtt' };
    await expect(removeSecrets(hub.store, absent, signer, NOW)).rejects.toMatchObject({
      code: 'SECRET_MISSING',
    });
    await expect(
      resealSecrets(hub.store, { ...absent, identities: [], escrow: undefined }, signer, NOW),
    ).rejects.toMatchObject({ code: 'SECRET_MISSING' });
  });

  it('as the 65th of a site; with 64 sets and ten agents the statement fits its limit', async () => {
    await using hub = await testHub();
    for (let at = 0; at < 10; at++) await enrolWithAge(hub, `plant-7/agent-${at}`);
    const long = (at: number) => `set-${at}-${'x'.repeat(50)}`;
    await setIn(hub, { name: long(0), agents: ['agent-0'] });
    const [first] = await readSecretSets(hub.store.db, 'plant-7');
    if (!first) throw new Error('no set');
    await hub.store.transact(async (tx) => {
      for (let at = 1; at < 63; at++) await storeSet(tx, { ...first, name: long(at) }, NOW);
    });
    await setIn(hub, { name: long(63), agents: ['agent-0'] });
    await expect(setIn(hub, { name: long(64) })).rejects.toMatchObject({ code: 'TOO_MANY' });
    const statement = await newestStatement(hub);
    expect(statement.subjects).toHaveLength(65);
    // Ten agents with 63 long names each would burst it: the order goes before the lists.
    expect(agentIn(statement, 'agent-1')?.unreadable).toBeUndefined();
    expect((await setIn(hub, { name: long(3) })).version).toBe(2);
  });
});

describe('when agents change', () => {
  it('an agent enrolled later cannot read existing sets, and is listed', async () => {
    await using hub = await hubWithAge();
    await setIn(hub);
    await enrolWithAge(hub, 'plant-7/press-2');
    expect(agentIn(await newestStatement(hub), 'press-2')?.unreadable).toEqual(['mqtt']);
    const [listed] = await listSecrets(hub.store.db, undefined, undefined);
    expect(listed).toMatchObject({ readers: ['press-1'], locked: ['press-2'] });
    expect(listed && recommendationsFor(listed)).toEqual([
      'press-2 of plant-7 cannot read mqtt: seal it again',
    ]);
  });

  it('the escrow identity reseals every set that needs it, with the same content and version', async () => {
    await using hub = await hubWithAge();
    const { one } = hub;
    const escrow = await generateAgeIdentity();
    await setIn(hub, { escrow: escrow.recipient });
    await setIn(hub, { name: 'vpn', escrow: escrow.recipient, agents: ['press-1'] });
    const two = await enrolWithAge(hub, 'plant-7/press-2');
    const { site, resealed, unchanged } = await reseal(hub, [escrow.identity], escrow.recipient);
    expect([resealed, unchanged]).toEqual([['mqtt'], ['vpn']]);
    await writeSite(hub, site, { now: NOW });
    const sealed = await sealedIn(hub, digestIn(readStatement(hub, site), 'mqtt'));
    for (const { identity } of [one, two, escrow])
      expect(await openSecretSet(sealed, identity, address)).toMatchObject({ version: 1, values: VALUES });
    expect(agentIn(readStatement(hub, site), 'press-2')?.unreadable).toEqual(['vpn']);
    const nothing = await reseal(hub, [escrow.identity], escrow.recipient);
    expect(nothing).toMatchObject({ resealed: [], site: { version: site.version } });
  });

  it('an identity that cannot read a set cannot reseal it, and nothing changes', async () => {
    await using hub = await hubWithAge();
    await setIn(hub);
    await enrolWithAge(hub, 'plant-7/press-2');
    const { digest } = await newestStatement(hub);
    const stranger = await generateAgeIdentity();
    await expect(reseal(hub, [stranger.identity])).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' });
    expect((await newestStatement(hub)).digest).toBe(digest);
  });

  it('sets are no longer sealed to a revoked agent, and the sets that it could read are reported', async () => {
    await using hub = await hubWithAge();
    const escrow = await generateAgeIdentity();
    const gone = await enrolWithAge(hub, 'plant-7/press-2');
    await setIn(hub, { escrow: escrow.recipient });
    await revokeAgent(hub.store, gone.id, await siteSigner(hub), NOW);
    const [before] = await listSecrets(hub.store.db, 'plant-7', escrow.recipient);
    expect(before).toMatchObject({ readers: ['press-1'], former: [gone.recipient], escrow: true });
    expect(before && recommendationsFor(before)[0]).toContain('replace the secrets in it');
    const { site } = await reseal(hub, [escrow.identity], escrow.recipient);
    await writeSite(hub, site, { now: NOW });
    const sealed = await sealedIn(hub, digestIn(readStatement(hub, site), 'mqtt'));
    await expect(openSecretSet(sealed, gone.identity, address)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
    });
    const [after] = await listSecrets(hub.store.db, 'plant-7', escrow.recipient);
    expect(after && recommendationsFor(after)).toEqual([]);
  });

  it('a reinstalled machine has a new identity, which cannot read the existing sets', async () => {
    await using hub = await hubWithAge();
    const { one: old } = hub;
    await setIn(hub);
    const replaced = await enrolWithAge(hub, 'plant-7/press-1', { replaceKey: true });
    const statement = await newestStatement(hub);
    expect(agentIn(statement, 'press-1')).toMatchObject({
      recipient: replaced.recipient,
      unreadable: ['mqtt'],
    });
    const { site } = await setIn(hub);
    await writeSite(hub, site, { now: NOW });
    const sealed = await sealedIn(hub, digestIn(readStatement(hub, site), 'mqtt'));
    expect(await openSecretSet(sealed, replaced.identity, address)).toMatchObject({ version: 2 });
    await expect(openSecretSet(sealed, old.identity, address)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
    });
  });

  it('an agent of a version before secrets sends its recipient with a new request', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    expect(agentIn(await newestStatement(hub), 'press-1')?.recipient).toBeUndefined();
    const { recipient } = await enrolWithAge(hub, 'plant-7/press-1', { agent });
    expect(agentIn(await newestStatement(hub), 'press-1')?.recipient).toBe(recipient);
    const stick = await hub.stick('without');
    await ask(stick, agent);
    await hub.enroll(stick);
    expect(agentIn(await newestStatement(hub), 'press-1')?.recipient).toBe(recipient);
  });

  it('a repeated old request does not restore the recipient of that time', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const [old, next] = [await generateAgeIdentity(), await generateAgeIdentity()];
    const asking = async ({ recipient }: { readonly recipient: string }, at: string, stick: string) => {
      const path = await hub.stick(stick);
      await ask(path, agent, { recipient, at });
      const { refused } = await hub.enroll(path);
      return refused.map(({ error: { code, message } }) => ({ code, message }));
    };
    expect(await asking(old, '2026-11-20T08:00:00Z', 'one')).toEqual([]);
    expect(await asking(next, '2026-11-21T08:00:00Z', 'two')).toEqual([]);
    const version = (await newestStatement(hub)).predicate.version;
    expect(await asking(old, '2026-11-20T08:00:00Z', 'again')).toEqual([
      {
        code: 'REQUEST_INVALID',
        message: expect.stringContaining(
          'is of 2026-11-20T08:00:00Z, and its age recipient was replaced at 2026-11-21T08:00:00Z',
        ),
      },
    ]);
    const statement = await newestStatement(hub);
    expect(agentIn(statement, 'press-1')?.recipient).toBe(next.recipient);
    // The newest may be asked with as often as one likes.
    expect(await asking(next, '2026-11-21T08:00:00Z', 'newest')).toEqual([]);
    expect((await newestStatement(hub)).predicate.version).toBe(version);
  });

  it('a recipient stored without a time accepts a request with any time, and has a time from then on', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const [known, old] = [await generateAgeIdentity(), await generateAgeIdentity()];
    const asking = async ({ recipient }: { readonly recipient: string }, at: string, name: string) => {
      const stick = await hub.stick(name);
      await ask(stick, agent, { recipient, at });
      return (await hub.enroll(stick)).refused.map(({ error }) => error.code);
    };
    await asking(known, '2026-11-20T08:00:00Z', 'known');
    await hub.store.db.updateTable('agent').set({ recipient_at: null }).execute();
    expect(await asking(known, '2026-11-20T08:00:00Z', 'same')).toEqual([]);
    expect(await asking(old, '2026-11-19T08:00:00Z', 'old')).toEqual(['REQUEST_INVALID']);
    expect(agentIn(await newestStatement(hub), 'press-1')?.recipient).toBe(known.recipient);
  });

  it('an old request with a changed time is refused: the signature does not match', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const { recipient } = await generateAgeIdentity();
    const claim = { fleet: 'acme', site: 'plant-7', agent: 'press-1', recipient };
    const recipientSignature = await signRecipient({ ...claim, at: '2026-11-20T08:00:00Z' }, agent.key);
    const stick = await hub.stick('edited');
    await ask(stick, agent, { recipient, recipientSignature, at: '2026-11-22T08:00:00Z' });
    const { refused } = await hub.enroll(stick);
    expect(refused.map(({ error }) => error.code)).toEqual(['REQUEST_INVALID']);
  });
});

describe('an enrolment request with a recipient', () => {
  it.each([
    ['that somebody else put in', {}],
    ['without a signature', { recipientSignature: 'AAAA' }],
  ])('%s is refused', async (_, changes) => {
    await using hub = await testHub();
    const [agent, thief] = [testAgent('plant-7/press-1'), testAgent('plant-7/press-1')];
    const { recipient } = await generateAgeIdentity();
    const stick = await hub.stick();
    const claim = { fleet: 'acme', site: 'plant-7', agent: 'press-1', recipient, at: formatTime(NOW) };
    const recipientSignature = await signRecipient(claim, thief.key);
    await ask(stick, agent, { recipient, recipientSignature, ...changes });
    const { refused, sites } = await hub.enroll(stick);
    expect(sites).toEqual([]);
    expect(refused.map(({ error }) => error.code)).toEqual(['REQUEST_INVALID']);
  });
});

describe('sealed sets on their way to a site', () => {
  it('are in the answer to an enrolment, without removed ones', async () => {
    await using hub = await hubWithAge();
    await setIn(hub);
    const stick = await hub.stick('answer');
    await ask(stick, testAgent('plant-7/press-2'));
    await hub.enroll(stick);
    const carried = async () => {
      await using medium = await openMedium(stick);
      return (medium.medium?.documents ?? []).filter(({ role }) => role === 'secrets');
    };
    const digest = digestIn(await newestStatement(hub), 'mqtt');
    expect(await carried()).toMatchObject([
      { site: 'plant-7', digest, mediaType: 'application/vnd.fleet-ferry.secrets.v1+age' },
    ]);
    await removeSecrets(hub.store, { site: 'plant-7', name: 'mqtt' }, await siteSigner(hub), NOW);
    await ask(stick, testAgent('plant-7/press-3'));
    await hub.enroll(stick);
    expect(await carried()).toEqual([]);
  });

  it("are in the site's artifact with the statement that names them", async () => {
    await using hub = await hubWithAge();
    const { site } = await setIn(hub);
    await writeSite(hub, site, { now: NOW });
    const documents = await readDocuments(await openLayout(hub.layout), siteReference('plant-7'));
    expect(documents.map(({ role }) => role)).toEqual(['site', 'site-values', 'secrets', 'root']);
    expect(documents[2]).toMatchObject({
      site: 'plant-7',
      digest: digestIn(readStatement(hub, site), 'mqtt'),
    });
    const statement = documents.find(({ role }) => role === 'site');
    expect(statement?.digest).toBe(digestOf(site.statement));
  });
});

test('no file of the office contains the plaintext: database, journal, layout, medium, keys', async () => {
  await using hub = await hubWithAge();
  const escrow = await generateAgeIdentity();
  const { site } = await setIn(hub, { escrow: escrow.recipient });
  await writeSite(hub, site, { now: NOW });
  await enrolWithAge(hub, 'plant-7/press-2');
  const resealed = await reseal(hub, [escrow.identity], escrow.recipient);
  await writeSite(hub, resealed.site, { now: NOW });
  const stick = await hub.stick('carrier');
  await ask(stick, testAgent('plant-7/press-3'));
  await hub.enroll(stick);
  expect(await filesThatShow(hub.path, 'plant-7')).not.toEqual([]);
  expect(await filesThatShow(hub.path, PASSWORD)).toEqual([]);
  expect(await filesThatShow(hub.path, escrow.identity)).toEqual([]);
});
