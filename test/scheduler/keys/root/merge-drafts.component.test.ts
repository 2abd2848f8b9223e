import { describe, expect, it } from 'vitest';
import type { SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, signRoot } from '#bundles/trust/root/root';
import { judgeDraft } from '../../../../scheduler/keys/root/judge-draft.ts';
import { mergeDrafts } from '../../../../scheduler/keys/root/merge-drafts.ts';
import { newKey } from '../../../bundles/trust/root/new-key.ts';
import { makeRoot, rootInputOf } from './officers.ts';

const [ada, ben, cleo, dora] = [newKey(), newKey(), newKey(), newKey()];
const input = rootInputOf([ada, ben, cleo]);
const draft = await createRoot(input, []);
const sign = (...signers: readonly SigningKey[]): Promise<Buffer> => signRoot(draft, signers);
const [byAda, byBen, byCleo] = await Promise.all([sign(ada), sign(ben), sign(cleo)]);

const merge = (first: Buffer, ...others: readonly Buffer[]): Buffer =>
  mergeDrafts(
    [
      { file: 'first.json', bytes: first },
      ...others.map((bytes, at) => ({ file: `copy-${at}.json`, bytes })),
    ],
    undefined,
  );
const refusal = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe('merging copies of a draft', () => {
  it('gives a complete root from copies that officers signed separately, in any order', () => {
    for (const copies of [
      [byAda, byBen, byCleo],
      [byCleo, byAda, byBen],
      [draft, byBen, byAda, byCleo],
    ] as [Buffer, ...Buffer[]][]) {
      const merged = merge(...copies);
      expect(parseRoot(merged).version).toBe(1);
      expect(judgeDraft(merged, undefined).signatures[0]?.signed).toHaveLength(3);
    }
    expect(merge(byAda, byBen)).toEqual(merge(byBen, byAda));
  });

  it("changes nothing for a copy without new signatures, and keeps an officer's first signature", async () => {
    expect(merge(byAda, byAda, draft)).toEqual(byAda);
    expect(merge(byAda, await sign(ada))).toEqual(byAda);
  });

  it('leaves the draft incomplete while signatures are missing', () => {
    expect(judgeDraft(merge(draft, byAda), undefined).complete).toBe(false);
  });

  it('accepts a copy in another JSON formatting', () => {
    const spaced = Buffer.from(JSON.stringify(JSON.parse(byBen.toString('utf8')), undefined, 4));
    expect(parseRoot(merge(byAda, spaced)).version).toBe(1);
  });

  it('counts officers by the previous root, which neither copy provides', async () => {
    const one = await makeRoot([ada, ben, cleo], [ada, ben]);
    const next = await createRoot(
      { ...input, version: 2, keys: { ...input.keys, root: [ben, cleo, dora].map((key) => key.public) } },
      [],
    );
    const copies = await Promise.all([ada, ben, dora].map((key) => signRoot(next, [key], one)));
    const files = copies.map((bytes, at) => ({ file: `${at}.json`, bytes })) as [
      { file: string; bytes: Buffer },
    ];
    expect(judgeDraft(mergeDrafts(files, one), one).complete).toBe(true);
    expect(refusal(() => mergeDrafts(files, undefined))).toMatchObject({
      code: 'ROOT_VERSION',
      at: { file: '0.json' },
    });
  });

  it('refuses other content of the same version, another version and another fleet, with the file', async () => {
    const other = await createRoot(rootInputOf([ada, ben, cleo]), [ben]);
    expect(refusal(() => merge(byAda, byCleo, other))).toMatchObject({
      code: 'EQUIVOCATION',
      at: { file: 'copy-1.json' },
      message: 'it differs from first.json, under the same number',
    });
    const later = await createRoot({ ...input, version: 2 }, [ben]);
    expect(refusal(() => merge(byAda, later))).toMatchObject({
      code: 'ROOT_VERSION',
      at: { file: 'copy-0.json' },
    });
    const foreign = await createRoot({ ...input, fleet: 'other' }, [ben]);
    expect(refusal(() => merge(byAda, foreign))).toMatchObject({ code: 'ROOT_FLEET' });
  });

  it('refuses a copy with an invalid signature, and drops signatures of unknown keys', async () => {
    const edited = Buffer.from(byBen.toString('utf8').replace('"sig":"30', '"sig":"31'));
    expect(refusal(() => merge(byAda, edited))).toMatchObject({
      code: 'BAD_SIGNATURE',
      at: { file: 'copy-0.json' },
    });
    expect(merge(byAda, await sign(dora))).toEqual(byAda);
  });
});
