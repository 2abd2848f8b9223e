import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, it as test } from 'vitest';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { ageFile } from '../../../agent/hub/age-identity.ts';
import { examineIdentity } from '../../../agent/observe/examine-identity.ts';
import { SITE } from '../world.ts';
import { createSecretWorld, type SecretWorld } from '../secrets/secret-world.ts';

/** An order with one set, and what it says of this agent. */
const order = async (it: SecretWorld, own: { recipient?: string; unreadable?: string[] }): Promise<void> => {
  const secrets = { mqtt: await it.seal('mqtt', { password: 'x' }) };
  const agents = [{ name: 'kiosk-1', key: it.agent.identity.key, ...own }];
  await importMedium(it.agent, await it.medium({ site: { site: SITE, version: 1, agents, secrets } }));
};

const said = async (it: SecretWorld) => {
  const { verdict, message } = await examineIdentity(it.agent);
  return { verdict, message };
};

describe("the doctor's check of the age identity", () => {
  test('is good for sets that are sealed to this agent, and without sets', async () => {
    await using it = await createSecretWorld();
    expect(await said(it)).toEqual({ verdict: 'good', message: 'no secret sets for this site' });
    await order(it, { recipient: it.recipient });
    expect(await said(it)).toEqual({
      verdict: 'good',
      message: '1 secret set for this site, sealed to this agent',
    });
  });

  test('warns of sets that are sealed to others', async () => {
    await using it = await createSecretWorld();
    await order(it, { recipient: it.recipient, unreadable: ['mqtt'] });
    expect(await said(it)).toEqual({
      verdict: 'warning',
      message: expect.stringMatching(/^mqtt: not sealed to this agent; .* seal them to it$/),
    });
  });

  test.each([undefined, 'another'])(
    'warns when the site statement has no recipient of this agent, or another: %s',
    async (how) => {
      await using it = await createSecretWorld();
      await order(it, how === undefined ? {} : { recipient: (await generateAgeIdentity()).recipient });
      expect(await said(it)).toEqual({
        verdict: 'warning',
        message: expect.stringContaining(`not ${it.recipient}: carry its request to the platform team`),
      });
    },
  );

  test('is bad for a lost, damaged or replaced identity, and does not print it', async () => {
    await using it = await createSecretWorld();
    const file = ageFile(it.agent.state.directory);
    const other = await generateAgeIdentity();
    await writeFile(file, other.identity);
    const messages = [await said(it)];
    await writeFile(file, other.identity.slice(0, -4));
    messages.push(await said(it));
    await rm(file);
    messages.push(await said(it));
    expect(messages.map(({ verdict }) => verdict)).toEqual(['bad', 'bad', 'bad']);
    expect(
      messages.map(({ message }) => /another identity|not an age identity|is lost/.exec(message)?.[0]),
    ).toEqual(['another identity', 'not an age identity', 'is lost']);
    expect(JSON.stringify(messages)).not.toContain('AGE-SECRET-KEY');
  });
});
