import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Digest, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { PREDICATES, SLSA_SUMMARY } from '#bundles/media-types';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { promoteTo } from '../../../../../scheduler/hub/promote/decide/promote-to.ts';
import { type KeyDirectory, openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { readDocuments } from '../../../../../scheduler/load/releases/artifact.ts';
import { readSummaries } from '../../../../../scheduler/load/releases/read-summaries.ts';
import { summariesReference } from '../../../../../scheduler/load/releases/references.ts';
import { NOW } from '../../../release/removals/office.ts';
import { changeShared, type ChainedOffice, chainedOffice } from '../decide/chained-office.ts';

const { signal } = new AbortController();

const promote = async (office: ChainedOffice, keysFor = (keys: KeyDirectory) => keys) => {
  const { hub, promotion } = await office.openChain();
  return promoteTo(
    { hub: { ...hub, keys: keysFor(hub.keys) }, promotion },
    { environment: 'prod', candidate: undefined, person: 'ann', reason: 'seen', now: NOW, signal },
  );
};

/** Keys at a signer of a version that signs no summaries. */
const withoutSummaries = (keys: KeyDirectory): KeyDirectory => ({
  ...keys,
  key: async (role) => {
    const key = await keys.key(role);
    const sign: typeof key.sign = async (bytes, evidence) => {
      if (Buffer.from(bytes).includes(SLSA_SUMMARY))
        throw new FleetError('PREDICATE_TYPE', 'the release key does not sign it');
      return key.sign(bytes, evidence);
    };
    return { ...key, sign };
  },
});

const summariesOf = async (office: ChainedOffice, number: number) => {
  const layout = await openLayout(office.layout);
  const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
  const documents = await readDocuments(layout, summariesReference('prod', number));
  const files = await statementFiles(layout.blobs, documents, 'summary');
  return files.map((file) => verifyUnder([file], roots, 'release', SLSA_SUMMARY, 'a summary').verified);
};

test('a promotion has a verification summary of each bundle that passed the environment before', async () => {
  const office = await chainedOffice();
  await promote(office);
  const [entry] = await office.entries();
  const summaries = await summariesOf(office, 1);
  expect(summaries.length).toBeGreaterThan(0);
  const layout = await openLayout(office.layout);
  for (const { subjects, predicate } of summaries) {
    expect(subjects.map(({ name }) => name)).toEqual([
      expect.stringMatching(/^bundle\/qa\/[a-z-]+\/(?:host|kubernetes)$/),
      'candidate',
    ]);
    expect(await layout.blobs.size(subjects[0]?.digest ?? 'sha256:')).toBeGreaterThan(0);
    expect(subjects[1]?.digest).toBe(entry?.candidate);
    expect(predicate).toMatchObject({
      verifier: { id: 'urn:fleet-ferry:fleet:halden' },
      resourceUri: 'urn:fleet-ferry:environment:halden:qa',
      verificationResult: 'PASSED',
      verifiedLevels: ['FLEET_FERRY_PASSED_QA'],
      inputAttestations: [
        { uri: PREDICATES.promotion, digest: { sha256: hexOf(entry?.payload ?? 'sha256:') } },
        { uri: PREDICATES.bundle },
      ],
    });
  }
});

test('each promotion keeps its own summaries, and one of the same candidate makes none', async () => {
  const office = await chainedOffice();
  await promote(office);
  const first = await summariesOf(office, 1);
  await changeShared(office, NOW);
  await promote(office);
  await promote(office);
  expect(await summariesOf(office, 1)).toEqual(first);
  const digests = (await summariesOf(office, 2)).map(({ subjects }) => subjects[0]?.digest);
  expect(digests).toHaveLength(first.length);
  expect(digests).not.toEqual(first.map(({ subjects }) => subjects[0]?.digest));
  expect(await summariesOf(office, 3)).toEqual([]);
});

test('a promotion does not take over the summaries of an interrupted one that had its number', async () => {
  const office = await chainedOffice();
  await expect(
    promote(office, (keys) => ({
      ...keys,
      key: async (role) => {
        const key = await keys.key(role);
        return role === 'audit' ? { ...key, sign: () => Promise.reject(new Error('stopped')) } : key;
      },
    })),
  ).rejects.toThrow('stopped');
  expect((await summariesOf(office, 1)).length).toBeGreaterThan(0);
  await changeShared(office, NOW);
  await promote(office, withoutSummaries);
  const [entry] = await office.entries();
  const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
  const read = (payload: Digest) =>
    openLayout(office.layout).then((layout) =>
      readSummaries(layout, roots, { to: 'prod', number: 1, payload }),
    );
  expect(await read(entry?.payload ?? 'sha256:')).toEqual([]);
  const [stopped] = await summariesOf(office, 1);
  const [, payload = ''] =
    /"sha256":"([0-9a-f]{64})"\},"uri":"[^"]*promotion/.exec(JSON.stringify(stopped?.predicate)) ?? [];
  expect((await read(`sha256:${payload}`)).length).toBeGreaterThan(0);
});

test('a signer that knows no summaries promotes without them', async () => {
  const office = await chainedOffice();
  await promote(office, withoutSummaries);
  expect(await office.entries()).toHaveLength(1);
  expect(await summariesOf(office, 1)).toEqual([]);
});
