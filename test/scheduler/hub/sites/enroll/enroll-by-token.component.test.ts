import { canonicalBytes, canonicalJson, type Json } from '#bundles/json/canonical';
import { fingerprint } from '#bundles/trust/keys/key';
import { hashToken } from '#bundles/trust/root/token-key';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { redeemOnMedium } from '../../../../../scheduler/hub/sites/tokens/token-terms.ts';
import { ask, HOSTS, NOW, put, type TestAgent, type TestHub, testAgent, testHub } from '../../test-hub.ts';
import { requestPath } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';

const tokenOf = async (hub: TestHub, site: string, agent: string, labels?: Record<string, string>) => {
  const order = { scope: 'enroll', site, agent, channel: HOSTS, labels, replaceKey: false } as const;
  const terms = { note: undefined, expires: new Date(NOW.getTime() + 3_600_000), now: NOW };
  return (await createToken(hub.store, order, terms)).token;
};
/** As the command does it: nobody is there to compare fingerprints. */
const enroll = (hub: TestHub, stick: string) =>
  hub.enroll(stick, { accept: [], redeem: redeemOnMedium(undefined, NOW) });
const labelsIn = async (hub: TestHub, id: string): Promise<unknown> => {
  const row = await hub.store.db.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
  return row && (JSON.parse(row.labels) as unknown);
};

const codes = (refused: readonly { readonly error: { readonly code: string } }[]): readonly string[] =>
  refused.map(({ error }) => error.code);

describe('an enrolment request with a one-time token', () => {
  it('is accepted without a fingerprint, with the channel and labels of the token, which is then used', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const token = await tokenOf(hub, 'plant-7', 'press-1', { ring: 'canary' });
    const other = { environment: 'prod', clusterType: 'kiosk' };
    await ask(stick, testAgent('plant-7/press-1'), { token, channel: other, labels: { ring: 'all' } });
    const { sites, refused } = await enroll(hub, stick);
    expect(refused).toEqual([]);
    expect(sites[0]?.enrolments[0]?.step).toMatchObject({
      kind: 'register',
      row: { cluster_type: 'factory-host' },
    });
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({ ring: 'canary' });
  });

  it('with a used token is refused, and the requests beside it are accepted', async () => {
    await using hub = await testHub();
    const [first, second] = [await hub.stick('first'), await hub.stick('second')];
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    await ask(first, testAgent('plant-7/press-1'), { token });
    await enroll(hub, first);
    await ask(second, testAgent('plant-7/press-1'), { token });
    await ask(second, testAgent('plant-7/press-2'), { token: await tokenOf(hub, 'plant-7', 'press-2') });
    const { sites, refused } = await enroll(hub, second);
    expect(refused.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(
        /^the token [0-9a-f]{12} of plant-7\/press-1 was used on .* by plant-7\/press-1 with another key$/,
      ),
    ]);
    expect(sites.flatMap(({ enrolments }) => enrolments.map(({ request }) => request.id))).toEqual([
      'plant-7/press-2',
    ]);
  });

  it.each([
    ['plant-7/press-2', 'is for another agent than plant-7/press-2'],
    ['plant-8/press-1', 'is for another site than plant-8, that of plant-8/press-1'],
  ])('of another host, %s, is refused, and the token stays valid for its own host', async (id, sentence) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    await ask(stick, testAgent(id), { token });
    expect((await enroll(hub, stick)).refused[0]?.error.message).toContain(sentence);
    const own = await hub.stick('own');
    await ask(own, testAgent('plant-7/press-1'), { token });
    expect((await enroll(hub, own)).refused).toEqual([]);
  });

  it('beside a request without a token leaves that one for a person', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'), { token: await tokenOf(hub, 'plant-7', 'press-1') });
    await ask(stick, testAgent('plant-7/press-2'));
    const { sites, left } = await enroll(hub, stick);
    expect(sites.flatMap(({ enrolments }) => enrolments.map(({ request }) => request.id))).toEqual([
      'plant-7/press-1',
    ]);
    expect(left.map(({ id }) => id)).toEqual(['plant-7/press-2']);
  });
});

describe('a person who found a medium with a request', () => {
  const OTHER = { environment: 'prod', clusterType: 'kiosk' };

  /** A stick on which press-1 has asked with its token, and what is in its request. */
  const found = async (hub: TestHub) => {
    const stick = await hub.stick('found');
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    const host = testAgent('plant-7/press-1');
    const path = await ask(stick, host, { token, labels: { ring: 'all' }, facts: { serial: 'PX-1' } });
    const text = await readFile(join(stick, path), 'utf8');
    return { stick, token, host, path, text, request: JSON.parse(text) as { readonly proof: object } };
  };
  const honest = async (hub: TestHub, token: string, host: TestAgent) => {
    const stick = await hub.stick('honest');
    await ask(stick, host, { token });
    return (await enroll(hub, stick)).sites.flatMap(({ enrolments }) =>
      enrolments.map(({ request }) => request.fingerprint),
    );
  };

  it('O9: reads no token in it, nor what the office keeps of one', async () => {
    await using hub = await testHub();
    const { text, token } = await found(hub);
    expect(text).not.toContain(token);
    expect(text).not.toContain(hashToken(token));
    expect(text).not.toContain(Buffer.from(token).toString('base64').slice(0, 30));
    const { sites, refused } = await enroll(hub, join(hub.path, 'found'));
    expect([sites.length, refused]).toEqual([1, []]);
  });

  it('O9: enrols no key of its own with the proof, and the host gets in with its own', async () => {
    await using hub = await testHub();
    const { stick, token, host, request } = await found(hub);
    const thief = testAgent('plant-7/press-1');
    await ask(stick, thief, { changed: { proof: request.proof } });
    const unsigned = await enroll(hub, stick);
    expect(codes(unsigned.refused)).toEqual(['REQUEST_INVALID']);
    // Signed by the thief, with the proof that it found.
    const { signature: _, ...fields } = JSON.parse(
      await readFile(join(stick, await ask(stick, thief)), 'utf8'),
    ) as Record<string, Json>;
    const signature = await thief.key.sign(
      Buffer.from(`fleet-ferry request v1\n${canonicalJson({ ...fields, proof: request.proof as Json })}\n`),
    );
    await put(
      stick,
      requestPath(thief.id),
      canonicalBytes({ ...fields, proof: request.proof as Json, signature: signature.toString('base64') }),
    );
    const { sites, refused } = await enroll(hub, stick);
    expect(codes(refused)).toEqual(['TOKEN_INVALID']);
    expect(refused[0]?.error.message).toContain('plant-7/press-1');
    expect(sites).toEqual([]);
    expect(await honest(hub, token, host)).toEqual([fingerprint(host.key.public)]);
  });

  it('O10: with the database of the office, too, proves no token', async () => {
    await using hub = await testHub();
    const { stick, token, host } = await found(hub);
    const row = await hub.store.db.selectFrom('token').selectAll().executeTakeFirstOrThrow();
    const thief = testAgent('plant-7/press-1');
    for (const secret of [row.hash, row.id, row.proof_key ?? '']) {
      await ask(stick, thief, { token: secret });
      // The thief names the token that it wants, whatever its proof was made with.
      const asked = JSON.parse(await readFile(join(stick, requestPath(thief.id)), 'utf8')) as {
        readonly proof: object;
        readonly signature: string;
      };
      const { signature: _, ...fields } = { ...asked, proof: { ...asked.proof, token: row.id } };
      const bytes = Buffer.from(`fleet-ferry request v1\n${canonicalJson(fields as unknown as Json)}\n`);
      const signature = (await thief.key.sign(bytes)).toString('base64');
      await put(stick, requestPath(thief.id), canonicalBytes({ ...fields, signature }));
      expect(codes((await enroll(hub, stick)).refused)).toEqual(['TOKEN_INVALID']);
    }
    expect(await honest(hub, token, host)).toEqual([fingerprint(host.key.public)]);
  });

  it.each([
    ['channel', { channel: OTHER }],
    ['labels', { labels: { ring: 'canary' } }],
    ['facts', { facts: { serial: 'PX-2' } }],
    ['time', { at: '2026-11-25T08:00:00Z' }],
    ['a field of a later version', { later: 'x' }],
    ['a field taken out', { proof: undefined }],
  ])('O11: cannot change %s', async (_, changed) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    await ask(stick, agent, { token, labels: { ring: 'all' }, facts: { serial: 'PX-1' }, changed });
    const accept = [{ fingerprint: fingerprint(agent.key.public) }];
    const { refused } = await enroll(hub, stick);
    expect(codes(refused)).toEqual(['REQUEST_INVALID']);
    expect(refused[0]?.error.message).toContain('plant-7/press-1');
    // Nor where a person has compared the fingerprint, and this is what the command says.
    await expect(hub.enroll(stick, { accept })).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await labelsIn(hub, 'plant-7/press-1')).toBeUndefined();
  });

  it('O12: cannot choose by taking all signatures away: an unsigned channel needs a person, and unsigned labels do not count', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    await ask(stick, agent, { old: true, channel: OTHER, labels: { ring: 'canary' } });
    const key = fingerprint(agent.key.public);
    const { refused } = await hub.enroll(stick, { accept: [{ fingerprint: key }] });
    expect(codes(refused)).toEqual(['REQUEST_INVALID']);
    expect(refused[0]?.error.hint).toContain(`--accept ${key}=`);
    const taken = await hub.enroll(stick, { accept: [{ fingerprint: key, channel: HOSTS }] });
    expect(taken.sites[0]?.enrolments[0]?.step).toMatchObject({ kind: 'register' });
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({});
    // The labels that a known agent has stay, too.
    await hub.store.db.updateTable('agent').set({ labels: '{"ring":"all"}' }).execute();
    await ask(stick, agent, { old: true, labels: { ring: 'canary' } });
    const accept = [{ fingerprint: key, channel: OTHER }];
    await hub.enroll(stick, { accept, update: true });
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({ ring: 'all' });
  });

  it('O13: is not let in by a token in clear text, which earlier versions wrote; a person can let the host in', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    const agent = testAgent('plant-7/press-1');
    await ask(stick, agent, { old: true, token });
    const { refused, sites, left } = await enroll(hub, stick);
    expect(codes(refused)).toEqual(['TOKEN_INVALID']);
    expect(refused[0]?.error.message).toMatch(/of plant-7\/press-1 carries its one-time token in clear text/);
    expect(refused[0]?.error.hint).toMatch(/tokens revoke.*--accept/);
    expect(JSON.stringify(refused)).not.toContain(token);
    expect([sites, left]).toEqual([[], []]);
    const accept = [{ fingerprint: fingerprint(agent.key.public), channel: HOSTS }];
    expect((await hub.enroll(stick, { accept })).sites).toHaveLength(1);
  });

  it('O14: an agent that asks for another channel than the person names with its key stays out', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    await ask(stick, agent, { channel: OTHER });
    const accept = [{ fingerprint: fingerprint(agent.key.public), channel: HOSTS }];
    await expect(hub.enroll(stick, { accept })).rejects.toMatchObject({
      code: 'REQUEST_INVALID',
      message: 'plant-7/press-1 asks for prod/kiosk, and --accept names prod/factory-host',
    });
    expect(await labelsIn(hub, 'plant-7/press-1')).toBeUndefined();
  });
});

describe('facts in an enrolment request', () => {
  it('become labels by the configured rules, which override the labels in the request', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const ruled = { ...hub, factLabels: [{ label: 'arch', fact: 'architecture' }] };
    const facts = { architecture: 'arm64', serial: 'PX-1' };
    await ask(stick, testAgent('plant-7/press-1'), { facts, labels: { arch: 'amd64', ring: 'all' } });
    const { enrollMedium } = await import('../../../../../scheduler/hub/sites/enroll/enroll-medium.ts');
    const { openFiles } = await import('#bundles/formats/medium/open-files');
    await using medium = await openFiles(stick);
    await enrollMedium(
      ruled,
      medium,
      { accept: [], confirm: async () => true, replaceKey: false, update: false },
      NOW,
    );
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({ arch: 'arm64', ring: 'all' });
  });

  it("without the signature of the agent's key refuse the request", async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    await ask(stick, agent, { facts: { serial: 'PX-1' }, factsSignature: 'AAAA' });
    expect((await hub.enroll(stick)).refused.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^the facts in .* are not signed by the key of its agent$/),
    ]);
  });
});
