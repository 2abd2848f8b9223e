import { describe, expect, it } from 'vitest';
import { createRoot, parseRoot, signRoot } from '#bundles/trust/root/root';
import { readRootDocument } from '#bundles/trust/root/root-document';
import { isEnough, officerIds, officerSignatures } from '#bundles/trust/root/root-signatures';
import { newKey, publics } from './new-key.ts';

const [ada, ben, cleo, dora] = [newKey(), newKey(), newKey(), newKey()];
const online = publics([newKey()]);
const input = (officers: readonly (typeof ada)[], version = 1) => ({
  fleet: 'acme',
  version,
  expires: new Date('2028-11-21T08:00:00Z'),
  keys: {
    root: publics(officers),
    bundle: online,
    release: online,
    lease: online,
    receipt: online,
    audit: online,
  },
});
const one = parseRoot(await createRoot(input([ada, ben, cleo]), [ada, ben]));
const draft = await createRoot(input([ben, cleo, dora], 2), [ada, dora]);
const hints = (keys: readonly { readonly hint: string }[]) => keys.map(({ hint }) => hint).toSorted();

describe('officerSignatures', () => {
  it("counts the signatures of the root's officers only", () => {
    const old = officerSignatures(one, draft);
    expect([old.of, old.needed, isEnough(old)]).toEqual([1, 2, false]);
    expect(hints(old.signed)).toEqual([ada.public.hint]);
    expect(hints(old.missing)).toEqual(hints(publics([ben, cleo])));
    expect(isEnough(officerSignatures(one, one.bytes))).toBe(true);
  });

  it('reports signatures that no longer verify as broken, neither signed nor missing', () => {
    const changed = Buffer.from(draft.toString().replace('2028-11-21', '2028-11-20'));
    const { signed, missing, broken } = officerSignatures(one, changed);
    expect([hints(signed), hints(broken)]).toEqual([[], [ada.public.hint]]);
    expect(hints(missing)).toEqual(hints(publics([ben, cleo])));
    const garbage = Buffer.from(draft.toString().replace(/"sig":"[0-9a-f]+"/g, '"sig":"00"'));
    expect(officerSignatures(one, garbage).broken).toHaveLength(1);
  });

  it('uses the key ids that the previous root has for its officers', async () => {
    const renamed = JSON.parse(one.bytes.toString());
    const [id = ''] = officerIds(readRootDocument(one.bytes), ben.public);
    const text = JSON.stringify(renamed).replaceAll(id, 'b'.repeat(64));
    const signed = await signRoot(draft, [ben], { bytes: Buffer.from(text) });
    expect(Object.keys(readRootDocument(signed).signatures)).toEqual(
      expect.arrayContaining([id, 'b'.repeat(64)]),
    );
  });
});
